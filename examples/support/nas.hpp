// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "in_quotes.hpp"

/// The common definitions of the NAS parallel benchmarks (Bailey and others, The NAS Parallel Benchmarks,
/// RNR-94-007).
namespace example::nas {

/// Their pseudo-random numbers: x' = 5^13 x mod 2^46, as fractions of 2^46.
class random {
 public:
  /// The stream after the first `skipped` numbers. Costs the logarithm of that number.
  explicit random(std::uint64_t skipped) noexcept {
    for (std::uint64_t power = factor; skipped != 0; skipped >>= 1U, power = product(power, power)) {
      if ((skipped & 1U) != 0) x_ = product(x_, power);
    }
  }
  double operator()() noexcept {
    x_ = product(x_, factor);
    return static_cast<double>(x_) * 0x1p-46;
  }

 private:
  static constexpr std::uint64_t factor = 1220703125;  // 5^13
  /// The lower 46 bits of a product modulo 2^64 are right.
  static constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
    return a * b & ((std::uint64_t{1} << 46U) - 1);
  }
  std::uint64_t x_ = 314159265;
};

/// The problem with this class name. Throws std::runtime_error if there is none.
template <class Problem, std::size_t Count>
Problem problem_named(std::string_view name, Problem const (&problems)[Count]) {
  std::string known;
  for (Problem const& p : problems) {
    if (p.name == name) return p;
    known += (known.empty() ? "" : ", ") + std::string(p.name);
  }
  throw std::runtime_error("there is no class " + in_quotes(name) + "; there are " + known);
}

}  // namespace example::nas
