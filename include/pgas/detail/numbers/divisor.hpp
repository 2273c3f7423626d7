// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
