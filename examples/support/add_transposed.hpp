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
/// if it can, by tiles that stay in the first cache together with the cells to which they are added.
template <class Array>
void add_transposed(Array const& a, Array const& b) {
  constexpr std::size_t side = 32;
  auto const own = b.own_box();
  std::size_t const first = own.first[0];
  pgas::fence epoch{a, pgas::read_only};
  auto const sum = pgas::stage(b, pgas::read_write);
  pgas::visit_box(epoch, {{0, first}, {a.extent(0), own.count[0]}}, [&](auto const& at, auto const& cells) {
    auto const [rows, cols] = at.count;
    std::size_t const row = at.first[1] - first;
    for (std::size_t i = 0; i < cols; i += side)
      for (std::size_t j = 0; j < rows; j += side)
        for (std::size_t r = i; r < std::min(i + side, cols); ++r) {
          auto* __restrict const to = &sum(row + r, at.first[0]);  // the cells to be read lie elsewhere
          for (std::size_t c = j; c < std::min(j + side, rows); ++c) to[c] += cells(c, r);
        }
  });
}

}  // namespace example
