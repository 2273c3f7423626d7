// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/rows_of.hpp>

namespace PGAS_NAMESPACE::detail {

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

/// Walks over a box of `count` cells by two-dimensional blocks, as few as possible: dimensions that are one
/// run on both sides are joined. It calls no function of the caller, so the compiler meets it once.
template <std::size_t N>
class block_walk {
 public:
  constexpr block_walk(std::array<std::size_t, N> const& count, box_in<N> const& there,
                       box_in<N> const& here) noexcept
      : there_(there.first), here_(here.first) {
    levels_[0] = {count[N - 1], 1, 1};
    is_over_ = count[N - 1] == 0;
    for (std::size_t d = N - 1; d-- > 0;) {
      if (count[d] == 0) is_over_ = true;
      if (count[d] == 1) continue;
      level& inner = levels_[used_ - 1];
      if (inner.count * inner.there == there.pitches[d] && inner.count * inner.here == here.pitches[d]) {
        inner.count *= count[d];
      } else {
        levels_[used_++] = {count[d], there.pitches[d], here.pitches[d]};
      }
    }
    outer_.fill(1);
    for (std::size_t k = 2; k < used_; ++k) outer_[k - 2] = levels_[k].count;
    if (used_ == 1) levels_[1] = {1, levels_[0].count, levels_[0].count};  // one run
  }

  [[nodiscard]] constexpr bool is_over() const noexcept { return is_over_; }
  /// The block's rows at `there`.
  [[nodiscard]] constexpr rows_of rows() const noexcept {
    return {
        .first = at_there_, .rows = levels_[1].count, .cols = levels_[0].count, .pitch = levels_[1].there};
  }
  /// The block's first element at `here`, and the elements between its rows there.
  [[nodiscard]] constexpr std::size_t first() const noexcept { return at_here_; }
  [[nodiscard]] constexpr std::size_t pitch() const noexcept { return levels_[1].here; }

  /// Advances to the next block.
  constexpr void next() noexcept {
    is_over_ = !advance(index_, outer_);
    at_there_ = there_;
    at_here_ = here_;
    for (std::size_t k = 2; k < used_; ++k) {
      at_there_ += index_[k - 2] * levels_[k].there;
      at_here_ += index_[k - 2] * levels_[k].here;
    }
  }

 private:
  struct level {
    std::size_t count;
    std::size_t there;
    std::size_t here;
  };

  std::array<level, N + 1> levels_{};  ///< from the innermost outwards: cells, rows, blocks
  std::size_t used_ = 1;
  std::array<std::size_t, N> index_{};
  std::array<std::size_t, N> outer_{};
  std::size_t there_;
  std::size_t here_;
  std::size_t at_there_ = there_;
  std::size_t at_here_ = here_;
  bool is_over_ = false;
};

/// Calls move(rows at `there`, first element at `here`, elements between rows at `here`) for each block.
template <std::size_t N, class Move>
constexpr void for_each_block(std::array<std::size_t, N> const& count, box_in<N> const& there,
                              box_in<N> const& here, Move&& move) {
  for (block_walk<N> walk(count, there, here); !walk.is_over(); walk.next())
    move(walk.rows(), walk.first(), walk.pitch());
}

/// A walk over those cells of a box that are in the share `mine`. `here` is the position of the whole box.
template <std::size_t N>
constexpr block_walk<2 * N> walk_over(share<N> const& mine, box<N> const& cells,
                                      box_in<N> const& here) noexcept {
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
  return {count, there, in_box};
}

/// Calls move(rows at `there`, first element at `here`, elements between rows at `here`) for each block of
/// those cells of a box that are in the share `mine`.
template <std::size_t N, class Move>
constexpr void for_each_block(share<N> const& mine, box<N> const& cells, box_in<N> const& here, Move&& move) {
  for (auto walk = walk_over(mine, cells, here); !walk.is_over(); walk.next())
    move(walk.rows(), walk.first(), walk.pitch());
}

/// A walk over the cells `piece` of a tile, for a transfer of `cells` whose other side is `here`.
template <std::size_t N>
constexpr block_walk<N> walk_over(tile<N> const& in, box<N> const& piece, box<N> const& cells,
                                  box_in<N> const& here) noexcept {
  std::size_t first = here.first;
  for (std::size_t d = 0; d < N; ++d) first += (piece.first[d] - cells.first[d]) * here.pitches[d];
  return {piece.count, {in.offset_of(piece.first), in.pitches}, {first, here.pitches}};
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
        for (auto walk = walk_over(theirs, cells, here); !walk.is_over(); walk.next())
          move(theirs.owner, walk.rows(), walk.first(), walk.pitch());
      });
      return;
    }
  }
  for_each_tile(l, cells, [&](tile<dimensions> const& in, box<dimensions> const& piece) {
    for (auto walk = walk_over(in, piece, cells, here); !walk.is_over(); walk.next())
      move(in.owner, walk.rows(), walk.first(), walk.pitch());
  });
}

}  // namespace PGAS_NAMESPACE::detail
