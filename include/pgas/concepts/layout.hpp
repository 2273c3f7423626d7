// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// A box of cells that one rank owns, and where it lies in that rank's part: the cell next in dimension d is
/// `pitches[d]` elements further. Along the last dimension cells are neighbours.
template <std::size_t N>
struct tile {
  rank_t owner = 0;
  box<N> cells;                        ///< in global indices
  std::size_t offset = 0;              ///< of its first cell
  std::array<std::size_t, N> pitches;  ///< the last one is 1

  /// Where one of its cells lies in the part.
  [[nodiscard]] constexpr std::size_t offset_of(std::array<std::size_t, N> const& index) const noexcept {
    std::size_t at = offset;
    for (std::size_t d = 0; d < N; ++d) at += (index[d] - cells.first[d]) * pitches[d];
    return at;
  }
  friend constexpr bool operator==(tile const&, tile const&) = default;
};

/// Cells of one owner at equal distances: in each dimension d `blocks[d]` blocks of `length[d]` of them, `step[d]` from
/// one to the next in the array and next to each other in the part.
template <std::size_t N>
struct share {
  rank_t owner = 0;
  std::array<std::size_t, N> first{};  ///< in global indices
  std::array<std::size_t, N> blocks{};
  std::array<std::size_t, N> length{};
  std::array<std::size_t, N> step{};
  std::size_t offset = 0;  ///< of its first cell in the part
  std::array<std::size_t, N> pitches{};
};

/// Room around a rank's own cells, on each side.
template <std::size_t N>
struct margins {
  std::array<std::size_t, N> before{};
  std::array<std::size_t, N> after{};

  friend constexpr bool operator==(margins const&, margins const&) = default;
};

/// Deals the cells of N dimensions to ranks, in tiles, and places them in the ranks' parts: *where*, in N dimensions.
///
/// Cuts between tiles go through the whole array. A rank owns `tiles(rank)` of them, none of them empty; `tile_of(rank,
/// k)` is one, in the order of its memory, and `tile_at(index)` the one in which a cell lies. What a program writes is
/// the rule alone; `over(extents, ranks, bytes of an element, margins)` is the same rule for an array, if
/// `error_for(extents, ranks)` is empty.
/// Axiom: global_index(owner(i), offset(i)) == i for every cell i, and offset(i) < part_size(owner(i)).
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

/// A rank's own cells are one array of N dimensions in its part, whatever cells they are: the first at `origin(rank)`,
/// `local_extents(rank)` of them, `pitches(rank)` apart.
template <class L>
concept matrix_layout = layout<L> && requires(L const& l, rank_t rank) {
  { l.origin(rank) } noexcept -> std::same_as<std::size_t>;
  { l.local_extents(rank) } noexcept -> std::same_as<std::array<std::size_t, L::dimensions>>;
  { l.pitches(rank) } noexcept -> std::same_as<std::array<std::size_t, L::dimensions>>;
};

/// And they are one box of the array, so that cells next to each other in a part are so in the array, on a grid of
/// ranks: what can have ghost cells. Along a dimension d its distribution is `along<d>()`.
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

}  // namespace pgas::inline PGAS_ASSERTIONS
