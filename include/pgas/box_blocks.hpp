// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/block_shape.hpp>
#include <pgas/box.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// How far neighbours are from each other, in each dimension, in a box of cells without gaps.
template <std::size_t N>
constexpr std::array<std::size_t, N> dense_pitches(std::array<std::size_t, N> const& count) noexcept {
  std::array<std::size_t, N> pitches{};
  pitches[N - 1] = 1;
  for (std::size_t d = N - 1; d > 0; --d) pitches[d - 1] = pitches[d] * count[d];
  return pitches;
}

/// Where a cell, counted from a box's first, is.
template <std::size_t N>
constexpr std::size_t element_at(std::array<std::size_t, N> const& index,
                                 std::array<std::size_t, N> const& pitches) noexcept {
  std::size_t at = 0;
  for (std::size_t d = 0; d < N; ++d) at += index[d] * pitches[d];
  return at;
}

/// Cells of a box that are moved between two places: where the first is in each, and how far its neighbours are.
template <std::size_t N>
struct box_in {
  std::size_t first = 0;
  std::array<std::size_t, N> pitches{};
};

/// Calls move(rows there, first element here, elements here from row to row) until a box of `count` cells is moved:
/// with as few calls as two-dimensional blocks allow, dimensions that are one run in both places joined.
template <std::size_t N, class Move>
constexpr void for_each_block(std::array<std::size_t, N> const& count, box_in<N> const& there, box_in<N> const& here,
                              Move&& move) {
  struct level {
    std::size_t count;
    std::size_t there;
    std::size_t here;
  };
  std::array<level, N + 1> levels{};  // from the innermost out
  levels[0] = {count[N - 1], 1, 1};
  std::size_t used = 1;
  for (std::size_t d = N - 1; d-- > 0;) {
    if (count[d] == 0) return;
    if (count[d] == 1) continue;
    level& inner = levels[used - 1];
    if (inner.count * inner.there == there.pitches[d] && inner.count * inner.here == here.pitches[d]) {
      inner.count *= count[d];
    } else {
      levels[used++] = {count[d], there.pitches[d], here.pitches[d]};
    }
  }
  if (count[N - 1] == 0) return;
  auto const& rows = levels[1];  // of no count where all is one run
  std::array<std::size_t, N> index{};
  std::array<std::size_t, N> outer{};
  outer.fill(1);
  for (std::size_t k = 2; k < used; ++k) outer[k - 2] = levels[k].count;
  do {
    std::size_t at_there = there.first;
    std::size_t at_here = here.first;
    for (std::size_t k = 2; k < used; ++k) {
      at_there += index[k - 2] * levels[k].there;
      at_here += index[k - 2] * levels[k].here;
    }
    if (used == 1) {
      move(rows_of{.first = at_there, .rows = 1, .cols = levels[0].count, .pitch = levels[0].count}, at_here,
           levels[0].count);
    } else {
      move(rows_of{.first = at_there, .rows = rows.count, .cols = levels[0].count, .pitch = rows.there}, at_here,
           rows.here);
    }
  } while (advance(index, outer));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
