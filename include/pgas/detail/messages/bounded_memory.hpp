// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <pgas/concepts/messenger.hpp>

namespace PGAS_NAMESPACE::detail {

/// The memory of one messenger: all that it allocates, counted, and never more than a budget.
///
/// A reservation keeps bytes free for messages that may arrive without a question. An allocation beyond the
/// budget would be a defect of a protocol; it throws std::bad_alloc.
class bounded_memory final : public std::pmr::memory_resource {
 public:
  /// The size for which an allocation of `bytes` counts.
  static constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

  explicit bounded_memory(std::size_t budget) noexcept : budget_(budget) {}

  [[nodiscard]] std::size_t left() const noexcept { return budget_ - used_ - reserved_; }
  [[nodiscard]] bool has(std::size_t bytes) const noexcept { return rounded(bytes) <= left(); }
  [[nodiscard]] message_memory counted() const noexcept { return {budget_, used_ + reserved_, most_}; }

  /// Requires has(bytes).
  void reserve(std::size_t bytes) noexcept {
    reserved_ += bytes;
    note();
  }
  void end_reservation(std::size_t bytes) noexcept { reserved_ -= bytes; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (!has(bytes)) throw std::bad_alloc{};
    void* const at = std::pmr::new_delete_resource()->allocate(rounded(bytes), alignment);
    used_ += rounded(bytes);
    note();
    return at;
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(at, rounded(bytes), alignment);
    used_ -= rounded(bytes);
  }
  [[nodiscard]] bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  void note() noexcept { most_ = std::max(most_, used_ + reserved_); }

  std::size_t budget_;
  std::size_t used_ = 0;
  std::size_t reserved_ = 0;
  std::size_t most_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
