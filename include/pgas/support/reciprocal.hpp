// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/support/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Divides by a number of 2 or more that is known at run time: one multiplication for numbers below 2^32.
///
/// The factor is 2^64 over the divisor, rounded up. So it is too large by less than 1, and a quotient by less
/// than 2^-32. A quotient is at least 1 / divisor below the next integer. Divisors above 2^32 have quotients
/// of 0, which stay below 1. `divisor` divides all numbers, and takes five instructions and a branch more.
/// Source: Granlund and Montgomery 1994, theorem 4.2.
class reciprocal {
 public:
  constexpr reciprocal() = default;
  /// Below 2 all quotients are 0.
  constexpr explicit reciprocal(std::size_t value) noexcept
      : value_(value < 2 ? ~std::size_t{0} : value), factor_(value < 2 ? 0 : ~std::size_t{0} / value + 1) {}

  /// True if `quotient` divides this number.
  [[nodiscard]] static constexpr bool divides(std::size_t i) noexcept { return i >> 32U == 0; }
  /// Requires divides(i).
  [[nodiscard]] constexpr std::size_t quotient(std::size_t i) const noexcept {
    // In a loop over numbers g++ would add to a sum of 128 bits in memory, which takes six instructions.
    if (!std::is_constant_evaluated()) asm("" : "+r"(i));
    return static_cast<std::size_t>((wide{factor_} * i) >> 64U);
  }
  /// The same for any number, by the processor's division.
  [[nodiscard]] constexpr std::size_t quotient_of_any(std::size_t i) const noexcept { return i / value_; }

 private:
  __extension__ using wide = unsigned __int128;

  std::size_t value_ = ~std::size_t{0};
  std::size_t factor_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
