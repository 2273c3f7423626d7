// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nas.hpp"

/// The definition of the NAS parallel benchmark CG (Bailey and others, The NAS Parallel Benchmarks,
/// RNR-94-007).
namespace example::nas::cg {

/// A problem size with the published estimate of its eigenvalue.
struct problem {
  std::string_view name;
  std::size_t order;     ///< of the matrix
  std::size_t nonzeros;  // of each vector that the matrix is made of
  double shift;
  double zeta;
};

inline constexpr problem problems[]{{"S", 1400, 7, 10, 8.5971775078648},
                                    {"W", 7000, 8, 12, 10.362595087124},
                                    {"A", 14000, 11, 20, 17.130235054029}};

inline constexpr int iterations = 15;         ///< of the power method
inline constexpr int steps = 25;              ///< of each solution
inline constexpr double tolerance = 1e-10;    // within which a run is verified
inline constexpr double smallest_size = 0.1;  ///< of the vectors' weights; the largest is 1

/// The problem of this class. Throws std::runtime_error if there is none.
inline problem problem_of(std::string_view name) { return problem_named(name, problems); }

/// Rows of a matrix, their nonzero elements one after the other.
struct sparse_rows {
  std::vector<std::size_t> begins{0};  // the begin of each row, and the end of the last one
  std::vector<std::uint32_t> columns;
  std::vector<double> values;

  [[nodiscard]] std::size_t size() const noexcept { return begins.size() - 1; }
  /// A row times x, of which it needs all elements.
  [[nodiscard]] double times(std::size_t row, double const* x) const noexcept {
    double sum = 0;
    for (std::size_t k = begins[row]; k < begins[row + 1]; ++k) sum += values[k] * x[columns[k]];
    return sum;
  }
  /// The same in four sums, of which none waits for another. Its rounding differs.
  [[nodiscard]] double times_in_four(std::size_t row, double const* x) const noexcept {
    std::array<double, 4> sum{};
    std::size_t k = begins[row];
    for (; k + 4 <= begins[row + 1]; k += 4)
      for (std::size_t i = 0; i < 4; ++i) sum[i] += values[k + i] * x[columns[k + i]];
    for (; k < begins[row + 1]; ++k) sum[0] += values[k] * x[columns[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
};

/// Rows [first, first + count) of the benchmark's matrix. Costs the random numbers of all rows.
inline sparse_rows make_rows(problem const& p, std::size_t first, std::size_t count) {
  struct element {
    std::size_t at;
    double value;
  };
  std::vector<std::vector<element>> rows(count);
  random next(1);
  double const ratio = std::pow(smallest_size, 1 / static_cast<double>(p.order));
  double weight = 1;
  // The sum of weight * x x^T over as many sparse random vectors x as there are rows.
  for (std::size_t i = 0; i < p.order; ++i, weight *= ratio) {
    std::vector<element> x;
    auto const find = [&](std::size_t at) {
      return std::find_if(x.begin(), x.end(), [at](element const& e) { return e.at == at; });
    };
    while (x.size() < p.nonzeros) {
      double const value = next();
      auto const at = static_cast<std::size_t>(next() * static_cast<double>(std::bit_ceil(p.order)));
      if (at < p.order && find(at) == x.end()) x.push_back({at, value});
    }
    if (auto const own = find(i); own != x.end()) {
      own->value = 0.5;
    } else {
      x.push_back({i, 0.5});
    }
    for (auto const& [row, value] : x) {
      if (row - first >= count) continue;  // rows below first wrap around to large numbers
      for (auto const& [column, other] : x) rows[row - first].push_back({column, weight * value * other});
    }
  }

  sparse_rows result;
  for (std::size_t i = 0; i < count; ++i) {
    auto& row = rows[i];
    row.push_back({first + i, smallest_size - p.shift});
    std::stable_sort(row.begin(), row.end(), [](element const& a, element const& b) { return a.at < b.at; });
    for (auto const& [column, value] : row) {
      if (result.columns.size() == result.begins.back() || result.columns.back() != column) {
        result.columns.push_back(static_cast<std::uint32_t>(column));
        result.values.push_back(0);
      }
      result.values.back() += value;
    }
    result.begins.push_back(result.columns.size());
  }
  return result;
}

}  // namespace example::nas::cg
