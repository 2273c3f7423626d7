// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/job/job.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// One rank's share of an extent of the arena. The destructor releases it.
class held_extent {
 public:
  held_extent(job j, std::uint64_t offset) noexcept : job_(std::move(j)), offset_(offset) {}
  held_extent(held_extent&& other) noexcept
      : job_(std::move(other.job_)), offset_(other.offset_), held_(other.held_) {
    other.held_ = false;
  }
  held_extent& operator=(held_extent&& other) noexcept {
    std::swap(job_, other.job_);
    std::swap(offset_, other.offset_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~held_extent() {
    if (held_) job_.release(offset_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return job_.arena() + offset_; }
  /// Allocates the memory of whole pages of the extent, near this rank.
  void populate(std::uint64_t offset, std::uint64_t bytes) const { job_.populate(offset_ + offset, bytes); }
  /// Makes core dumps show bytes of the extent if the user has asked for it.
  void show_in_core(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    job_.show_in_core(offset_ + offset, bytes);
  }
  [[nodiscard]] job const& owner() const noexcept { return job_; }

 private:
  job job_;
  std::uint64_t offset_;
  bool held_ = true;
};

}  // namespace PGAS_NAMESPACE::detail
