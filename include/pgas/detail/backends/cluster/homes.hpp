// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <unordered_map>

namespace pgas::inline PGAS_ASSERTIONS::detail::cluster {

/// The memory of this rank that other nodes reach: each part or share of words under the number that all
/// ranks of its team know.
class homes {
 public:
  void add(std::uint64_t number, std::byte* first, std::uint64_t bytes) { known_[number] = {first, bytes}; }
  void remove(std::uint64_t number) {
    if (last_ == number) last_ = none;
    known_.erase(number);
  }

  /// The address of `bytes` bytes at `offset`, or null if the memory is unknown or ends before.
  [[nodiscard]] std::byte* find(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (number != last_) {
      auto const found = known_.find(number);
      if (found == known_.end()) return nullptr;
      last_ = number;
      last_home_ = found->second;
    }
    if (offset > last_home_.bytes || bytes > last_home_.bytes - offset) return nullptr;
    return last_home_.first + offset;
  }

 private:
  struct home {
    std::byte* first = nullptr;
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint64_t none = 0;

  std::unordered_map<std::uint64_t, home> known_;
  std::uint64_t last_ = none;  ///< the number of the memory that was reached last
  home last_home_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::cluster
