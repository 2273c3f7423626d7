// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <cstdint>

namespace example {

/// Draws numbers from 0 to n - 1, number i with a probability proportional to 1 / (i + 1)^skew.
/// Source: Gray et al. 1994, "Quickly generating billion-record synthetic databases", as in YCSB.
class zipf {
 public:
  explicit zipf(std::uint64_t n, double skew = 0.99) : n_(n), skew_(skew) {
    for (std::uint64_t i = 1; i <= n; ++i) sum_ += std::pow(static_cast<double>(i), -skew);
    double const first_two = 1 + std::pow(2.0, -skew);
    scale_ = (1 - std::pow(2.0 / static_cast<double>(n), 1 - skew)) / (1 - first_two / sum_);
    second_ = first_two;
  }

  /// The number for a random value from 0 to below 1.
  [[nodiscard]] std::uint64_t operator()(double random) const {
    double const part = random * sum_;
    if (part < 1) return 0;
    if (part < second_) return n_ > 1 ? 1 : 0;
    double const place = static_cast<double>(n_) * std::pow(scale_ * random - scale_ + 1, 1 / (1 - skew_));
    auto const drawn = static_cast<std::uint64_t>(place);
    return drawn < n_ ? drawn : n_ - 1;
  }

 private:
  std::uint64_t n_;
  double skew_;
  double sum_ = 0;  ///< of all weights
  double scale_ = 0;
  double second_ = 0;
};

}  // namespace example
