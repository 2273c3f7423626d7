// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "shapes.hpp"

/// The five-point stencil that heat.cpp and its peers iterate.
namespace bench {

inline constexpr std::array<std::size_t, 2> stencil_sides{256, 1024};

/// One iteration over rows of `pitch` elements.
[[gnu::noinline]] inline void relax(double* __restrict to, double const* __restrict from, std::size_t rows,
                                    std::size_t cols, std::size_t pitch) {
  for (std::size_t r = 0; r < rows; ++r, to += pitch, from += pitch) {
    for (std::size_t c = 0; c < cols; ++c) {
      to[c] = 0.25 * (from[c - pitch] + from[c + pitch] + from[c - 1] + from[c + 1]);
    }
  }
}

inline row_key stencil_key(std::size_t side) {
  return {.row = "heat", .mode = std::to_string(side) + " x " + std::to_string(side)};
}

}  // namespace bench
