// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// A box of cells that one rank owns, with its position in that rank's part. The next cell in dimension d
/// lies `pitches[d]` elements further. Cells are contiguous along the last dimension.
template <std::size_t N>
struct tile {
  rank_t owner = 0;                    ///< the rank that owns the cells
  box<N> cells;                        ///< in global indices
  std::size_t offset = 0;              ///< of the first cell in the part
  std::array<std::size_t, N> pitches;  ///< the last one is 1

  /// The offset in the part of a cell of this tile.
  [[nodiscard]] constexpr std::size_t offset_of(std::array<std::size_t, N> const& index) const noexcept {
    std::size_t at = offset;
    for (std::size_t d = 0; d < N; ++d) at += (index[d] - cells.first[d]) * pitches[d];
    return at;
  }
  friend constexpr bool operator==(tile const&, tile const&) = default;
};

/// Cells of one owner at equal distances. Each dimension d has `blocks[d]` blocks of `length[d]` cells. In
/// the array, blocks begin `step[d]` cells apart; in the part, they are adjacent.
template <std::size_t N>
struct share {
  rank_t owner = 0;                      ///< the rank that owns the cells
  std::array<std::size_t, N> first{};    ///< in global indices
  std::array<std::size_t, N> blocks{};   ///< the number of blocks
  std::array<std::size_t, N> length{};   ///< the cells of a block
  std::array<std::size_t, N> step{};     ///< the cells from one block's beginning to the next one's
  std::size_t offset = 0;                ///< of the first cell in the part
  std::array<std::size_t, N> pitches{};  ///< the elements of the part from a cell to its neighbour
};

/// The number of elements before and after a rank's own cells, in each dimension.
template <std::size_t N>
struct margins {
  std::array<std::size_t, N> before{};  ///< the elements before the own cells
  std::array<std::size_t, N> after{};   ///< the elements behind the own cells

  friend constexpr bool operator==(margins const&, margins const&) = default;
};

/// A distribution of the cells of an N-dimensional array over ranks, in tiles, with the position of each cell
/// in its owner's part.
///
/// The cuts between tiles pass through the whole array. A rank owns `tiles(rank)` tiles, none of them empty.
/// `tile_of(rank, k)` is tile k in the order of memory, and `tile_at(index)` is the tile that contains a
/// cell.
/// `dimensions` is N. `extents()` are the cells of each dimension. `owner(index)` is the rank that owns a
/// cell, and `offset(index)` the cell's element in that rank's part, of `part_size(rank)` elements.
/// `overflows(bytes)` says whether a part of elements of that size is too large for an address. `describe()`
/// is the rule in text.
/// A program writes the rule alone. `over(extents, ranks, bytes of an element, margins)` is the same rule for
/// an array. It requires that `error_for(extents, ranks)` is empty; otherwise that sentence says what is
/// wrong.
/// Axiom: global_index(owner(i), offset(i)) == i for every cell i, and offset(i) < part_size(owner(i)).
///
/// Rule and mapping are one type, other than in std::mdspan, where `layout_right` is the rule and
/// `layout_right::mapping` holds the extents. There a rule is a tag; here it has parameters, such as a block
/// length, which each mapping would have to repeat. Two types would double the classes of every distribution
/// and layout, for the sake of the two members `over` and `error_for`.
template <class L, std::size_t N = L::dimensions>
concept layout = std::regular<L> && L::dimensions == N &&
                 requires(L const& l, std::array<std::size_t, N> const& index, rank_t rank, std::size_t k,
                          margins<N> const& around) {
                   { l.extents() } -> std::convertible_to<std::array<std::size_t, N>>;
                   { l.ranks() } noexcept -> std::same_as<rank_t>;
                   { l.owner(index) } noexcept -> std::same_as<rank_t>;
                   { l.offset(index) } noexcept -> std::same_as<std::size_t>;
                   { l.global_index(rank, k) } noexcept -> std::same_as<std::array<std::size_t, N>>;
                   { l.part_size(rank) } noexcept -> std::same_as<std::size_t>;
                   { l.tiles(rank) } noexcept -> std::same_as<std::size_t>;
                   { l.tile_of(rank, k) } noexcept -> std::same_as<tile<N>>;
                   { l.tile_at(index) } noexcept -> std::same_as<tile<N>>;
                   { l.overflows(k) } noexcept -> std::same_as<bool>;
                   { l.over(index, rank, k, around) } -> std::same_as<L>;
                   { l.error_for(index, rank) } -> std::same_as<std::optional<std::string>>;
                   { l.describe() } -> std::convertible_to<std::string>;
                 };

/// A layout in which a rank's own cells form one N-dimensional array in its part, even if they are scattered
/// over the array. It begins at `origin(rank)` and has `local_extents(rank)` cells, `pitches(rank)` elements
/// apart.
template <class L>
concept matrix_layout = layout<L> && requires(L const& l, rank_t rank) {
  { l.origin(rank) } noexcept -> std::same_as<std::size_t>;
  { l.local_extents(rank) } noexcept -> std::same_as<std::array<std::size_t, L::dimensions>>;
  { l.pitches(rank) } noexcept -> std::same_as<std::array<std::size_t, L::dimensions>>;
};

/// A matrix layout in which own cells are also one box of the array, on a grid of ranks. Neighbours in a part
/// are then neighbours in the array, so that the array can have ghost cells: `one_box` is true. `along<d>()`
/// is the distribution of dimension d.
template <class L>
concept box_layout = matrix_layout<L> && L::one_box && requires(L const& l, rank_t rank) {
  { l.box_of(rank) } noexcept -> std::same_as<box<L::dimensions>>;
  { l.part_extents(rank) } noexcept -> std::same_as<std::array<std::size_t, L::dimensions>>;
  { l.room() } -> std::convertible_to<margins<L::dimensions>>;
  { l.places().place(rank) };
  { l.template along<0>() };
};

/// Calls use(tile, box) for the piece of `cells` in each tile, in row-major order of tiles.
template <layout L, class Use>
constexpr void for_each_tile(L const& l, box<L::dimensions> const& cells, Use&& use) {
  if (cells.size() == 0) return;
  auto piece = cells;
  for (;;) {
    auto const in = l.tile_at(piece.first);
    for (std::size_t d = 0; d < L::dimensions; ++d) {
      piece.count[d] =
          std::min(in.cells.first[d] + in.cells.count[d], cells.first[d] + cells.count[d]) - piece.first[d];
    }
    use(in, piece);
    std::size_t d = L::dimensions;
    while (d > 0) {
      piece.first[d - 1] += piece.count[d - 1];
      if (piece.first[d - 1] < cells.first[d - 1] + cells.count[d - 1]) break;
      piece.first[d - 1] = cells.first[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace PGAS_NAMESPACE
