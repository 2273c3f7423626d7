// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace example {

/// Stores to each of `sums` its row of `tile` times `factors`. Four rows take their turn together: each
/// addition waits for the one before in its own row only, and a factor that is loaded serves all four.
template <class Tile>
void rows_times(Tile const& tile, std::span<double const> factors, std::span<double> sums) {
  constexpr std::size_t together = 4;
  std::size_t i = 0;
  for (; i + together <= sums.size(); i += together) {
    std::array<double, together> sum{};
    for (std::size_t j = 0; j < factors.size(); ++j)
      for (std::size_t k = 0; k < together; ++k) sum[k] += tile(i + k, j) * factors[j];
    for (std::size_t k = 0; k < together; ++k) sums[i + k] = sum[k];
  }
  for (; i < sums.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < factors.size(); ++j) sum += tile(i, j) * factors[j];
    sums[i] = sum;
  }
}

}  // namespace example
