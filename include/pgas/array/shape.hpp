// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/array/halo.hpp>
#include <pgas/distributions/block.hpp>
#include <pgas/distributions/whole.hpp>
#include <pgas/layouts/tiled.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail {

template <class Others>
struct by_rows_of;
template <std::size_t... Other>
struct by_rows_of<std::index_sequence<Other...>> {
  template <std::size_t>
  using other = whole;
  using type = tiled<block, other<Other>...>;
};

template <std::size_t N>
[[noreturn]] void throw_no_cell(rank_t self, called operation, std::array<std::size_t, N> const& index,
                                std::array<std::size_t, N> const& extents) {
  throw_error_at(errc::out_of_range, self, operation,
                 {"cell (", index_text(index), ") does not exist in an array of ", joined(extents, " x ")});
}

template <std::size_t N>
[[noreturn]] void throw_no_box(rank_t self, called operation, box<N> const& cells,
                               std::array<std::size_t, N> const& extents) {
  throw_error_at(errc::out_of_range, self, operation,
                 {joined(cells.count, " x "), " cells do not fit at (", index_text(cells.first),
                  ") in an array of ", joined(extents, " x ")});
}

}  // namespace detail

/// The default layout: blocks of dimension 0; the other dimensions are not divided.
template <std::size_t N>
using by_rows = typename detail::by_rows_of<std::make_index_sequence<N - 1>>::type;

/// The shape of an array: which rank owns which cells, their positions in the parts, and the ghost cells
/// around them. It is everything that is known without communication.
///
/// A part consists of the rank's own cells with `halo(d).width` ghost cells before and `halo(d).after` behind
/// them in each dimension, in row-major order. A rank without own cells has no part.
template <std::size_t N, class Layout = by_rows<N>>
class array_shape {
  static_assert(N >= 1 && N <= 4, "array_shape: arrays have one to four dimensions");
  static_assert(layout<Layout, N>, "array_shape: the layout has another number of dimensions than the array");
  static constexpr bool is_by_rows = std::is_same_v<Layout, by_rows<N>>;

 public:
  /// The shape of an array with these extents and halos over `ranks` ranks, by a layout's rule.
  constexpr array_shape(std::array<std::size_t, N> const& extents, pgas::halos<N> const& halos, rank_t ranks,
                        Layout const& rule = {}, std::size_t element_bytes = 1)
      : layout_(rule.over(extents, ranks, element_bytes, halos.around())), halos_(halos) {}

  /// The owner and the place of each cell.
  [[nodiscard]] constexpr Layout const& layout() const noexcept { return layout_; }
  /// The number of cells in each dimension.
  [[nodiscard]] constexpr std::array<std::size_t, N> const& extents() const noexcept {
    return layout_.extents();
  }
  /// The number of cells in dimension d.
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept { return extents()[d]; }
  /// The halo of dimension d.
  [[nodiscard]] constexpr pgas::halo const& halo(std::size_t d) const noexcept { return halos_[d]; }
  /// The halos of all dimensions.
  [[nodiscard]] constexpr pgas::halos<N> const& halos() const noexcept { return halos_; }

  /// The box of cells that a rank owns, in global indices.
  [[nodiscard]] constexpr box<N> box_of(rank_t rank) const noexcept
    requires box_layout<Layout>
  {
    return layout_.box_of(rank);
  }
  /// The number of elements in a rank's part, ghost cells included.
  [[nodiscard]] constexpr std::size_t part_size(rank_t rank) const noexcept {
    return layout_.part_size(rank);
  }
  /// The offset of a cell in its owner's part.
  [[nodiscard]] constexpr std::size_t offset(std::array<std::size_t, N> const& index) const noexcept {
    return layout_.offset(index);
  }
  /// True if the array has all cells of a box.
  [[nodiscard]] constexpr bool contains(box<N> const& b) const noexcept { return b.is_within(extents()); }
  /// True if the array has a cell with this index.
  [[nodiscard]] constexpr bool has_cell(std::array<std::size_t, N> const& index) const noexcept {
    for (std::size_t d = 0; d < N; ++d) {
      if (index[d] >= extent(d)) return false;
    }
    return true;
  }
  /// True if a number of elements or bytes overflows the address space.
  [[nodiscard]] constexpr bool overflows(std::size_t element_bytes) const noexcept {
    return halos_.overflow() || layout_.overflows(element_bytes);
  }

  // Facts that are the same on all ranks if only dimension 0 is divided. A *row* is the set of cells with one
  // index in dimension 0.
  /// The distribution of the rows.
  [[nodiscard]] constexpr block const& rows() const noexcept
    requires is_by_rows
  {
    return layout_.template along<0>();
  }
  /// The number of elements of a part between the beginnings of two rows.
  [[nodiscard]] constexpr std::size_t pitch() const noexcept
    requires is_by_rows
  {
    return layout_.pitches(0)[0];
  }
  /// The number of rows of a rank's part, ghost rows included.
  [[nodiscard]] constexpr std::size_t part_rows(rank_t rank) const noexcept
    requires is_by_rows
  {
    return layout_.part_extents(rank)[0];
  }
  /// The offset of a rank's first own cell in its part.
  [[nodiscard]] constexpr std::size_t origin() const noexcept
    requires is_by_rows
  {
    return layout_.origin(0);
  }

 private:
  Layout layout_;
  pgas::halos<N> halos_;
};

}  // namespace PGAS_NAMESPACE
