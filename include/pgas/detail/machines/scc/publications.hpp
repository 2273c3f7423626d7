// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The times at which one rank has published the stores to its own part, by its own clock.
class publications {
 public:
  /// The rank has stored to its own part.
  void stored() noexcept { is_due_ = true; }
  /// The rank publishes its stores at time `now`. Returns whether there were any.
  bool publish(std::uint32_t now) noexcept {
    if (!is_due_) return false;
    is_due_ = false;
    times_[count_++ % kept] = now;
    return true;
  }
  /// The time at which a store of time `when` was published; the largest number if it was not. A store that
  /// is older than the times that are kept counts as published at once.
  [[nodiscard]] std::uint32_t time_of(std::uint32_t when) const noexcept {
    std::uint32_t found = ~std::uint32_t{0};
    for (std::uint64_t i = count_; i-- > 0;) {
      if (count_ - i > kept) return when;
      if (times_[i % kept] < when) break;
      found = times_[i % kept];
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kept = 64;

  std::array<std::uint32_t, kept> times_{};
  std::uint64_t count_ = 0;
  bool is_due_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
