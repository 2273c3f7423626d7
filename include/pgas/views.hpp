// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/array_segment.hpp>
#include <pgas/array/part_box.hpp>
#include <pgas/detail/array/aligned.hpp>
#include <pgas/detail/views/cells.hpp>
#include <pgas/detail/views/rows.hpp>
#include <pgas/tiles.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <range/v3/view/zip.hpp>
#include <ranges>
#include <tuple>

namespace PGAS_NAMESPACE::detail {

/// True if two arrays have the same own cells of this rank in the same order.
template <any_global_array First, any_global_array Second>
  requires(First::dimensions == Second::dimensions)
bool has_cells_of(First const& a, Second const& b) noexcept {
  if (a.extents() != b.extents() || a.local_extents() != b.local_extents()) return false;
  if ((has_layout_of(a, b) && a.rank() == b.rank()) || own_cells(a).empty()) return true;
  // Own cells are a product of dimensions, so that comparing along each dimension compares all of them.
  auto const index = [](auto const& array, std::size_t d, std::size_t i) {
    auto const& place = array.local_place();
    return array.layout().global_index(array.rank(), place.first + i * place.pitches[d])[d];
  };
  for (std::size_t d = 0; d < First::dimensions; ++d) {
    for (std::size_t i = 0; i < a.local_extents()[d]; ++i) {
      if (index(a, d, i) != index(b, d, i)) return false;
    }
  }
  return true;
}

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

namespace detail {

/// A range whose elements lie in memory, one after the other, and stay there after the call that takes it.
template <class Range>
concept row_in_memory = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                        (std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range> ||
                         ranges::view_<std::remove_cvref_t<Range>>);

/// A row or a part as a range-v3 view: a pair of iterators.
template <class Sequence>
auto as_view(Sequence const& s) {
  return ranges::make_subrange(s.begin(), s.end());
}

}  // namespace detail

/// The pieces of an array in rank order, empty ones included: `for (auto s : segments(a))`. Local. For
/// layouts in which each rank owns one box; tiles() works for all layouts.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto segments(Array const& a) {
  return ranges::views::transform(ranges::views::iota(rank_t{0}, a.ranks()),
                                  [array = &a](rank_t r) { return array_segment<Array>(*array, r); });
}

/// The rank that owns a piece.
template <any_global_array Array>
[[nodiscard]] rank_t rank(array_segment<Array> const& s) noexcept {
  return s.rank();
}

/// The own part of an array, or the memory of a piece: a.local().
template <any_global_array Array>
[[nodiscard]] auto local(Array const& a) {
  return a.local();
}
template <any_global_array Array>
[[nodiscard]] auto local(array_segment<Array> const& s)
  requires Array::state_type::is_direct
{
  return s.local();
}

namespace views {

/// The cells of a box of this rank's part, own and ghost cells, as a random access view in row-major order.
/// The box comes from own_cells, all_cells or a stencil's cells_before. References go through this rank's
/// cache if there is one. Local. Like all of these views, it is valid as long as the array stays in place.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto cells(Array const& a, part_box<Array::dimensions> const& box) {
  auto const own = detail::box_of_own(a);
  return detail::cells_view<std::remove_const_t<decltype(own)>, Array::dimensions>(own, box);
}

/// The cells of a segment on any rank, as a random access view in row-major order. Like local(segment), for
/// code that synchronizes by itself.
template <any_global_array Array>
  requires Array::state_type::is_direct
[[nodiscard]] auto cells(array_segment<Array> const& s) {
  constexpr std::size_t N = Array::dimensions;
  box_view<typename Array::value_type, N> const memory(s.first_cell(), s.box().count, s.pitches());
  part_box<N> all;
  for (std::size_t d = 0; d < N; ++d) all.end[d] = static_cast<std::ptrdiff_t>(memory.extent(d));
  return detail::cells_view<std::remove_const_t<decltype(memory)>, N>(memory, all);
}

/// This rank's own cells, row after row, as a random access view:
/// `views::local(a) | ranges::views::transform(f)`. It works on every backend; references go through this
/// rank's cache if there is one.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto local(Array const& a) {
  if constexpr (Array::dimensions == 1) {
    return detail::as_view(a.local());
  } else {
    return views::cells(a, own_cells(a));
  }
}

/// This rank's own cells of aligned arrays as a random access view of tuples of references:
/// `for (auto [x, y] : views::zip(a, b)) y += x;`. Halos, padding and element types may differ.
///
/// Throws errc::invalid_argument with both layouts if this rank's own cells differ between the arrays.
template <any_global_array First, any_global_array... More>
  requires(matrix_layout<typename First::layout_type> &&
           ((First::dimensions == More::dimensions && matrix_layout<typename More::layout_type>)&&...))
[[nodiscard]] auto zip(First const& first, More const&... more) {
  auto const check = [&](auto const& other) {
    if (!detail::has_cells_of(first, other)) detail::throw_not_aligned("zip", first, other);
  };
  (check(more), ...);
  return ranges::views::zip(views::local(first), views::local(more)...);
}

/// Elements of contiguous ranges of one length as a random access view of tuples of references:
/// `for (auto&& [to, above, below] : views::zip(row, row_above, row_below)) to = above + below;`. Local.
///
/// Throws errc::invalid_argument if the lengths differ. The end is one comparison of indices, and compilers
/// vectorize the loop; with ranges::views::zip each range may end it, and g++ does not.
template <class First, class... More>
  requires(detail::row_in_memory<First> && (detail::row_in_memory<More> && ...))
[[nodiscard, gnu::always_inline]] inline auto zip(First&& first, More&&... more) {
  std::size_t const length = std::ranges::size(first);
  PGAS_EXPECTS(light, ((std::ranges::size(more) == length) && ...),
               detail::throw_error(errc::invalid_argument, -1, "zip",
                                   "ranges of several lengths have no pairs; give ranges of one length"));
  if constexpr (requires { detail::zip_found(first, more...); }) {
    return detail::zip_found(first, more...);
  } else {
    return detail::zipped(length, std::ranges::data(first), std::ranges::data(more)...);
  }
}

/// Rows of boxes of one shape as a random access view of zipped rows:
/// `for (auto const row : views::zip(to, from)) for (auto&& [x, y] : row) x = y;`. Local. From a row to the
/// next costs one addition for each box.
///
/// Throws errc::invalid_argument if the boxes have several shapes.
template <class First, class... More>
  requires(detail::is_rows_of_memory<First> && (detail::is_rows_of_memory<More> && ...))
[[nodiscard]] auto zip(First const& first, More const&... more) {
  PGAS_EXPECTS(light, ((more.counts() == first.counts()) && ...),
               detail::throw_error(errc::invalid_argument, -1, "zip",
                                   "rows of boxes of several shapes have no pairs; give boxes of one shape"));
  return detail::zipped_rows(first, more...);
}

/// The own cells at least a halo's width away from other ranks' cells, as a random access view. They can be
/// computed while an exchange is pending.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto interior(Array const& a) {
  auto const around = a.shape().halos().around();
  return views::cells(a, inner_cells(a, around.before, around.after));
}

/// The own cells outside interior(a), which must wait for the exchange. A forward view over at most two boxes
/// per dimension.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto boundary(Array const& a) {
  auto const around = a.shape().halos().around();
  auto const own = detail::box_of_own(a);
  return detail::shell_view<std::remove_const_t<decltype(own)>, Array::dimensions>(
      own, own_cells(a), inner_cells(a, around.before, around.after));
}

/// The ghost cells around the own cells, corners and cells beyond a fixed edge included. A forward view.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto halo(Array const& a) {
  auto const own = detail::box_of_own(a);
  return detail::shell_view<std::remove_const_t<decltype(own)>, Array::dimensions>(own, all_cells(a),
                                                                                   own_cells(a));
}

/// The global indices of the cells that a rank owns, in the order of its memory. A forward view, for any
/// layout and any rank.
template <any_global_array Array>
[[nodiscard]] auto owned_by(Array const& a, rank_t rank, detail::caller by = detail::here()) {
  a.state().check_rank(rank, {"owned_by", by});
  return detail::owned_view<typename Array::layout_type>(a.layout(), rank);
}

/// This rank's tiles in the order of its memory, as a random access view: tiles() for pipelines.
template <any_global_array Array>
[[nodiscard]] auto tiles(Array const& a) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, a.layout().tiles(a.rank())),
                                  [array = &a](std::size_t k) { return own_tile<Array>(*array, k); });
}

/// The rows of a box of a view of memory, counted from the view's first cell: of staged cells, for example,
/// `views::rows(stage(a, read_only).view(), box)`. Local.
template <std::size_t N, detail::memory_view<N> View>
[[nodiscard]] auto rows(View const& v, part_box<N> const& box) {
  return detail::memory_rows(detail::rows_of_box(v, box));
}

/// The rows of a box of this rank's part, own and ghost cells, each a random access view. The rows are in
/// order themselves, and a view of random access.
///
/// The box comes from own_cells, all_cells, a stencil's cells_before or shifted(). Local. Loops over zip() of
/// rows are as quick as loops over pointers. zip(to[r], from[r]) divides r once if the boxes have one shape
/// and the arrays, too, and else once for each box. Loops over zip() of cells() take 18 to 30 times as long,
/// since a row may end at each cell.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto rows(Array const& a, part_box<Array::dimensions> const& box) {
  if constexpr (Array::is_contiguous) {
    return views::rows(detail::box_of_own(a), box);
  } else {
    detail::numbered_rows const rows_of_box(detail::box_of_own(a), box);
    return ranges::views::transform(ranges::views::iota(std::size_t{0}, rows_of_box.size()), rows_of_box);
  }
}

/// This rank's own rows, each a random access view.
template <any_global_array Array>
  requires(Array::dimensions == 2)
[[nodiscard]] auto rows(Array const& a) {
  auto const matrix = a.local();
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, matrix.extent(0)),
                                  [matrix](std::size_t i) { return detail::as_view(matrix.row(i)); });
}

}  // namespace views

}  // namespace PGAS_NAMESPACE
