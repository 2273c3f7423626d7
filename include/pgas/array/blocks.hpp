// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/rows_of.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The distances in elements between neighbours, per dimension, in a box of cells without gaps.
template <std::size_t N>
constexpr std::array<std::size_t, N> dense_pitches(std::array<std::size_t, N> const& count) noexcept {
  std::array<std::size_t, N> pitches{};
  pitches[N - 1] = 1;
  for (std::size_t d = N - 1; d > 0; --d) pitches[d - 1] = pitches[d] * count[d];
  return pitches;
}

/// The offset of a cell; its index counts from the first cell of the box.
template <std::size_t N>
constexpr std::size_t element_at(std::array<std::size_t, N> const& index,
                                 std::array<std::size_t, N> const& pitches) noexcept {
  std::size_t at = 0;
  for (std::size_t d = 0; d < N; ++d) at += index[d] * pitches[d];
  return at;
}

/// One side of a transfer of a box: the offset of its first cell, and the distances to neighbours. A transfer
/// has two sides: `there`, often another rank's part, and `here`.
template <std::size_t N>
struct box_in {
  std::size_t first = 0;
  std::array<std::size_t, N> pitches{};
};

/// Calls move(rows at `there`, first element at `here`, elements between rows at `here`) until a box of
/// `count` cells is moved. Dimensions that are one run on both sides are joined, so that there are as few
/// calls as two-dimensional blocks allow.
template <std::size_t N, class Move>
constexpr void for_each_block(std::array<std::size_t, N> const& count, box_in<N> const& there,
                              box_in<N> const& here, Move&& move) {
  struct level {
    std::size_t count;
    std::size_t there;
    std::size_t here;
  };
  std::array<level, N + 1> levels{};  // from the innermost outwards
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
  auto const& rows = levels[1];  // its count is 0 if the box is one run
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
      move(rows_of{.first = at_there, .rows = rows.count, .cols = levels[0].count, .pitch = rows.there},
           at_here, rows.here);
    }
  } while (advance(index, outer));
}

/// The same for those cells of a box that are in the share `mine`. `here` is the position of the whole box.
template <std::size_t N, class Move>
constexpr void for_each_block(share<N> const& mine, box<N> const& cells, box_in<N> here, Move&& move) {
  std::array<std::size_t, 2 * N> count{};  // per dimension: the blocks, then the cells of a block
  box_in<2 * N> there{mine.offset, {}};
  box_in<2 * N> in_box{here.first, {}};
  for (std::size_t d = 0; d < N; ++d) {
    count[2 * d] = mine.blocks[d];
    count[2 * d + 1] = mine.length[d];
    there.pitches[2 * d] = mine.length[d] * mine.pitches[d];
    there.pitches[2 * d + 1] = mine.pitches[d];
    in_box.pitches[2 * d] = mine.step[d] * here.pitches[d];
    in_box.pitches[2 * d + 1] = here.pitches[d];
    in_box.first += (mine.first[d] - cells.first[d]) * here.pitches[d];
  }
  for_each_block<2 * N>(count, there, in_box, move);
}

/// Calls move(owner, rows in its part, first element at `here`, elements between rows at `here`) until the
/// cells of a box are moved between their owners' parts and `here`.
template <layout L, class Move>
void for_each_block(L const& l, box<L::dimensions> const& cells, box_in<L::dimensions> const& here,
                    Move&& move) {
  constexpr std::size_t dimensions = L::dimensions;
  if constexpr (requires { l.has_many_short_rows(cells); }) {
    if (l.has_many_short_rows(cells)) {
      l.for_each_share(cells, [&](share<dimensions> const& theirs) {
        for_each_block(theirs, cells, here, [&](rows_of block, std::size_t first, std::size_t pitch) {
          move(theirs.owner, block, first, pitch);
        });
      });
      return;
    }
  }
  for_each_tile(l, cells, [&](tile<dimensions> const& in, box<dimensions> const& piece) {
    std::size_t first = here.first;
    for (std::size_t d = 0; d < dimensions; ++d) first += (piece.first[d] - cells.first[d]) * here.pitches[d];
    for_each_block<dimensions>(piece.count, {in.offset_of(piece.first), in.pitches}, {first, here.pitches},
                               [&](rows_of block, std::size_t at_here, std::size_t pitch) {
                                 move(in.owner, block, at_here, pitch);
                               });
  });
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
