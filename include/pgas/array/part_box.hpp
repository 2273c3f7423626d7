// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/shape.hpp>

namespace PGAS_NAMESPACE {

/// A box of cells of a rank's part: `first[d]` up to, but not including, `end[d]` in each dimension d,
/// counted from the first own cell. Negative indices and those behind the last own cell are ghost cells.
template <std::size_t N>
struct part_box {
  std::array<std::ptrdiff_t, N> first{};  ///< the smallest index in each dimension
  std::array<std::ptrdiff_t, N> end{};    ///< the index behind the largest one

  /// True if the box has no cells.
  [[nodiscard]] constexpr bool empty() const noexcept {
    for (std::size_t d = 0; d < N; ++d) {
      if (end[d] <= first[d]) return true;
    }
    return false;
  }
  /// The number of indices in each dimension.
  [[nodiscard]] constexpr std::array<std::size_t, N> counts() const noexcept {
    std::array<std::size_t, N> all{};
    for (std::size_t d = 0; d < N; ++d)
      all[d] = static_cast<std::size_t>(std::max<std::ptrdiff_t>(end[d] - first[d], 0));
    return all;
  }
  /// The number of cells.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return box<N>{{}, counts()}.size(); }
  friend constexpr bool operator==(part_box const&, part_box const&) = default;
};

/// The cells that lie in both boxes; empty if there are none.
template <std::size_t N>
constexpr part_box<N> intersection(part_box<N> const& a, part_box<N> const& b) noexcept {
  part_box<N> both;
  for (std::size_t d = 0; d < N; ++d) {
    both.first[d] = std::max(a.first[d], b.first[d]);
    both.end[d] = std::max(both.first[d], std::min(a.end[d], b.end[d]));
  }
  return both;
}

/// The box whose cells are so many steps farther in each dimension: `shifted(own_cells(a), {-1, 0})` are the
/// cells above the own ones.
template <std::size_t N>
constexpr part_box<N> shifted(part_box<N> cells,
                              std::type_identity_t<std::array<std::ptrdiff_t, N>> const& by) noexcept {
  for (std::size_t d = 0; d < N; ++d) {
    cells.first[d] += by[d];
    cells.end[d] += by[d];
  }
  return cells;
}

/// Calls use(box) for disjoint, non-empty boxes that cover `all` without `inner`: at most two per dimension.
/// Requires that `inner` lies within `all`.
template <std::size_t N, class Use>
constexpr void for_each_around(part_box<N> const& all, part_box<N> const& inner, Use&& use) {
  if (all.empty()) return;
  if (inner.empty()) {
    use(all);
    return;
  }
  auto rest = all;
  for (std::size_t d = 0; d < N; ++d) {
    auto before = rest;
    before.end[d] = inner.first[d];
    if (!before.empty()) use(std::as_const(before));
    auto after = rest;
    after.first[d] = inner.end[d];
    if (!after.empty()) use(std::as_const(after));
    rest.first[d] = inner.first[d];
    rest.end[d] = inner.end[d];
  }
}

namespace detail {

/// The box grown by these numbers of cells on each side; an empty box stays empty.
template <std::size_t N>
constexpr part_box<N> grown(part_box<N> box, std::array<std::size_t, N> const& before,
                            std::array<std::size_t, N> const& after) noexcept {
  if (box.empty()) return {};
  for (std::size_t d = 0; d < N; ++d) {
    box.first[d] -= static_cast<std::ptrdiff_t>(before[d]);
    box.end[d] += static_cast<std::ptrdiff_t>(after[d]);
  }
  return box;
}

}  // namespace detail

/// The box of this rank's own cells. Local, like all of these functions.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] constexpr part_box<Array::dimensions> own_cells(Array const& a) noexcept {
  part_box<Array::dimensions> own;
  for (std::size_t d = 0; d < Array::dimensions; ++d)
    own.end[d] = static_cast<std::ptrdiff_t>(a.local_extents()[d]);
  return own.empty() ? part_box<Array::dimensions>{} : own;
}

/// The box of own cells with the ghost cells around them; empty on a rank without own cells.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] constexpr part_box<Array::dimensions> all_cells(Array const& a) noexcept {
  auto const around = a.shape().halos().around();
  return detail::grown(own_cells(a), around.before, around.after);
}

/// The box of those cells of this rank's part, ghost cells included, that show a cell of the array. Ghost
/// cells beyond a fixed edge show none; beyond other edges the array repeats.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] constexpr part_box<Array::dimensions> cells_of_array(Array const& a) noexcept {
  auto all = all_cells(a);
  if (all.empty()) return all;
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    if (a.shape().halo(d).edges != edge::fixed) continue;
    auto const first = static_cast<std::ptrdiff_t>(a.own_box().first[d]);
    all.first[d] = std::max(all.first[d], -first);
    all.end[d] = std::min(all.end[d], static_cast<std::ptrdiff_t>(a.extent(d)) - first);
  }
  return all;
}

/// The box of own cells at these distances from other ranks' cells. A stencil with that reach can compute
/// them while an exchange is pending. Dimensions that the grid does not divide need no distance, because
/// begin_exchange fills their ghost cells before it returns.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] constexpr part_box<Array::dimensions> inner_cells(
    Array const& a, std::array<std::size_t, Array::dimensions> const& before,
    std::array<std::size_t, Array::dimensions> const& after) noexcept {
  auto inner = own_cells(a);
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    if (a.layout().places().extent(d) == 1) continue;
    // The box ends at the own cells: a reach may exceed their number.
    inner.first[d] = std::min(inner.first[d] + static_cast<std::ptrdiff_t>(before[d]), inner.end[d]);
    inner.end[d] = std::max(inner.end[d] - static_cast<std::ptrdiff_t>(after[d]), inner.first[d]);
  }
  return inner.empty() ? part_box<Array::dimensions>{} : inner;
}

}  // namespace PGAS_NAMESPACE
