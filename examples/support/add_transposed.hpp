// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array/visit_box.hpp>
#include <pgas/fence.hpp>
#include <pgas/stage.hpp>

namespace example {

/// b += a^T. Collective; the arrays are square, and have one layout in blocks of rows.
///
/// The cells for a rank's rows lie across the diagonal, in other ranks' parts. The rank reads them in place
/// if it can, by tiles that stay in the first cache together with the cells to which they are added. It adds
/// to a few rows at a time: each line of a tile then serves them all before another one takes its place, as
/// happens if rows have a power of two of cells.
template <class Array>
void add_transposed(Array const& a, Array const& b) {
  constexpr std::size_t side = 32;
  auto const own = b.own_box();
  std::size_t const first = own.first[0];
  pgas::fence epoch{a, pgas::read_only};
  auto const sum = pgas::stage(b, pgas::read_write);
  pgas::visit_box(epoch, {{0, first}, {a.extent(0), own.count[0]}}, [&](auto const& at, auto const& cells) {
    auto const [rows, cols] = at.count;
    auto const to = sum.view().submatrix(at.first[1] - first, at.first[0], cols, rows);
    auto const add = [&](auto together, std::size_t r, std::size_t j) {
      for (std::size_t c = j; c < std::min(j + side, rows); ++c)
        for (std::size_t k = 0; k < together; ++k) to(r + k, c) += cells(c, r + k);
    };
    for (std::size_t i = 0; i < cols; i += side)
      for (std::size_t j = 0; j < rows; j += side) {
        std::size_t r = i;
        for (; r + 4 <= std::min(i + side, cols); r += 4) add(std::integral_constant<std::size_t, 4>{}, r, j);
        for (; r < std::min(i + side, cols); ++r) add(std::integral_constant<std::size_t, 1>{}, r, j);
      }
  });
}

}  // namespace example
