// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Divides by a number of 2 or more that is known at run time: one multiplication where numbers are small.
///
/// The factor is 2^64 over the divisor, rounded up, so it is too large by less than 1. An estimate is too
/// large by less than number / 2^64, and it lies at least 1 / divisor below the next integer. So it is the
/// quotient if number * divisor is below 2^64, and otherwise at most 1 more. No function has a branch, so g++
/// can schedule it freely. Source: Granlund and Montgomery 1994, theorem 4.2.
class reciprocal {
 public:
  constexpr reciprocal() = default;
  /// Below 2 all quotients are 0.
  constexpr explicit reciprocal(std::size_t value) noexcept
      : value_(value < 2 ? 0 : value), factor_(value < 2 ? 0 : ~std::size_t{0} / value + 1) {}

  [[nodiscard]] constexpr std::size_t value() const noexcept { return value_; }
  /// True if each number up to this one has its quotient as estimate.
  [[nodiscard]] constexpr bool estimates(std::size_t most) const noexcept {
    return std::bit_width(most) + std::bit_width(value_) <= 64;
  }
  [[nodiscard]] constexpr std::size_t estimate(std::size_t i) const noexcept {
    return static_cast<std::size_t>((wide{factor_} * i) >> 64U);
  }
  /// The quotient of any number below 2^63.
  [[nodiscard]] constexpr std::size_t quotient(std::size_t i) const noexcept {
    auto const q = estimate(i);
    return q - ((i - q * value_) >> 63U);
  }

 private:
  __extension__ using wide = unsigned __int128;

  std::size_t value_ = 0;
  std::size_t factor_ = 0;
};

/// Divides by a constant: for a power of two the compiler emits a shift and a mask.
template <std::size_t B>
struct static_divisor {
  [[nodiscard]] static constexpr std::size_t value() noexcept { return B; }
  [[nodiscard]] static constexpr std::size_t quotient(std::size_t i) noexcept { return i / B; }
  [[nodiscard]] static constexpr std::size_t remainder(std::size_t i) noexcept { return i % B; }

  friend constexpr bool operator==(static_divisor, static_divisor) = default;
};

/// Divides by a number known at run time, without the processor's division, which takes tens of cycles.
///
/// For a power of two it shifts, else it multiplies; the branch between the two is well predicted. Exact for
/// all numbers. Source: Granlund and Montgomery 1994, figure 4.1. The sum 2^64 + magic is 2^(l + 64) / value,
/// rounded up, where 2^l is the next power of two and l is shift + 1.
class divisor {
 public:
  constexpr divisor() = default;
  constexpr explicit divisor(std::size_t value) noexcept
      : value_(value), shift_(value == 0 ? 0 : static_cast<unsigned>(std::bit_width(value)) - 1) {
    if (value == 0 || std::has_single_bit(value)) return;
    magic_ = static_cast<std::size_t>((((wide{2} << shift_) - value) << 64U) / value) + 1;
  }

  [[nodiscard]] constexpr std::size_t value() const noexcept { return value_; }
  /// Requires that the value is not 0.
  [[nodiscard]] constexpr std::size_t quotient(std::size_t i) const noexcept {
    if (magic_ == 0) return i >> shift_;
    auto const high = static_cast<std::size_t>((wide{magic_} * i) >> 64U);
    return (((i - high) >> 1U) + high) >> shift_;
  }
  [[nodiscard]] constexpr std::size_t remainder(std::size_t i) const noexcept {
    return i - quotient(i) * value_;
  }

  friend constexpr bool operator==(divisor, divisor) = default;

 private:
  __extension__ using wide = unsigned __int128;

  std::size_t value_ = 1;
  std::size_t magic_ = 0;  ///< 0 for powers of two
  unsigned shift_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
