// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <cstdint>

namespace example::lattice {

/// A sum of numbers whose bits do not depend on the order of its terms, so not on the number of ranks.
///
/// It is a whole number of 2^-80 in 128 bits: each term loses what is less than that, and then nothing is
/// rounded. Requires that terms and sums stay below 2^46. A window, a message and a collective may carry it.
class exact_sum {
 public:
  constexpr exact_sum() = default;

  void add(double term) noexcept {
    double const scaled = std::abs(term) * 0x1p+16;  // exact, as each step but the last
    double const whole = std::floor(scaled);
    auto high = static_cast<std::uint64_t>(whole);
    auto low = static_cast<std::uint64_t>((scaled - whole) * 0x1p+64);
    if (term < 0) {
      low = ~low + 1;
      high = ~high + (low == 0 ? 1 : 0);
    }
    add(high, low);
  }
  friend exact_sum operator+(exact_sum a, exact_sum b) noexcept {
    a.add(b.high_, b.low_);
    return a;
  }
  [[nodiscard]] double value() const noexcept {
    auto const high = static_cast<double>(static_cast<std::int64_t>(high_));
    return (high + static_cast<double>(low_) * 0x1p-64) * 0x1p-16;
  }
  friend bool operator==(exact_sum const&, exact_sum const&) = default;

 private:
  void add(std::uint64_t high, std::uint64_t low) noexcept {
    low_ += low;
    high_ += high + (low_ < low ? 1 : 0);
  }

  std::uint64_t high_ = 0;  ///< in units of 2^-16, in two's complement
  std::uint64_t low_ = 0;   ///< in units of 2^-80
};

}  // namespace example::lattice
