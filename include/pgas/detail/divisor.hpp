// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstddef>
#include <pgas/detail/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Divides by a number known when compiling: by shift and mask where that is a power of two.
template <std::size_t B>
struct static_divisor {
  [[nodiscard]] static constexpr std::size_t value() noexcept { return B; }
  [[nodiscard]] static constexpr std::size_t quotient(std::size_t i) noexcept { return i / B; }
  [[nodiscard]] static constexpr std::size_t remainder(std::size_t i) noexcept { return i % B; }

  friend constexpr bool operator==(static_divisor, static_divisor) = default;
};

/// Divides by a number known when running: a branch, well predicted, to shift and mask where that is a power of two,
/// since a division takes tens of cycles.
class divisor {
 public:
  constexpr divisor() = default;
  constexpr explicit divisor(std::size_t value) noexcept
      : value_(value), shift_(std::has_single_bit(value) ? std::countr_zero(value) : -1) {}

  [[nodiscard]] constexpr std::size_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr std::size_t quotient(std::size_t i) const noexcept {
    return shift_ >= 0 ? i >> static_cast<unsigned>(shift_) : i / value_;
  }
  [[nodiscard]] constexpr std::size_t remainder(std::size_t i) const noexcept {
    return shift_ >= 0 ? i & (value_ - 1) : i % value_;
  }

  friend constexpr bool operator==(divisor, divisor) = default;

 private:
  std::size_t value_ = 1;
  int shift_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
