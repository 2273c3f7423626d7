// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// Memory whose pages are zero, and exist once they are touched: parts, words and stacks of all ranks.
class mapping {
 public:
  static constexpr std::size_t page = 4096;

  /// Throws errc::no_space if the system refuses.
  mapping(std::size_t bytes, rank_t asks, std::string_view operation)
      : bytes_((bytes + page - 1) / page * page) {
    if (bytes_ == 0 && bytes == 0) return;
    void* const at = bytes_ < bytes ? MAP_FAILED
                                    : ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      throw error(errc::no_space, asks, operation,
                  std::to_string(bytes) + " bytes were asked for on all ranks together: " +
                      std::strerror(bytes_ < bytes ? ENOMEM : errno) + "; take less, or fewer ranks");
    }
    first_ = static_cast<std::byte*>(at);
  }
  mapping(mapping&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  mapping& operator=(mapping&&) = delete;
  ~mapping() {
    if (first_ != nullptr) ::munmap(first_, bytes_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

  /// No access may reach these pages.
  void guard(std::size_t offset, std::size_t bytes) const noexcept {
    ::mprotect(first_ + offset, bytes, PROT_NONE);
  }
  /// The bytes that exist.
  [[nodiscard]] std::size_t touched() const {
    std::vector<unsigned char> pages(bytes_ / page);
    if (pages.empty() || ::mincore(first_, bytes_, pages.data()) != 0) return 0;
    std::size_t count = 0;
    for (unsigned char const p : pages) count += p & 1U;
    return count * page;
  }

 private:
  std::byte* first_ = nullptr;
  std::size_t bytes_;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
