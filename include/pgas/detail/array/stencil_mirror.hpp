// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/halo.hpp>
#include <pgas/array/part_box.hpp>
#include <tuple>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The images of cells beyond the reflecting edges of an array, as far as a stencil of this reach reads them.
template <class Reach>
struct stencil_mirror {
  static constexpr std::size_t dimensions = Reach::dimensions;
  using index_type = typename Reach::index_type;
  using part_box_type = part_box<dimensions>;

  /// The first and the last index of the array along a dimension, counted from this rank's first own cell.
  template <class Array>
  static constexpr std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(Array const& a,
                                                                      std::size_t d) noexcept {
    auto const first = -static_cast<std::ptrdiff_t>(a.own_box().first[d]);
    return {first, first + static_cast<std::ptrdiff_t>(a.extent(d))};
  }
  /// True if the stencil reads cells beyond a reflecting edge of dimension d, or of any dimension.
  template <class Array>
  static constexpr bool has_mirror(Array const& a, std::size_t d) noexcept {
    return (Reach::before[d] != 0 || Reach::after[d] != 0) && a.shape().halo(d).edges == edge::reflecting;
  }
  template <class Array>
  static constexpr bool has_mirror(Array const& a) noexcept {
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (has_mirror(a, d)) return true;
    }
    return false;
  }
  /// Copies freshly computed cells to their mirror images, as far as the next step reads them. `cells` is
  /// this rank's part, staged. Requires that the next step computes any cells.
  template <class Array, class Cells>
  static void reflect(Array const& a, Cells const& cells, part_box_type done, part_box_type const& next) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (!has_mirror(a, d)) continue;
      auto const [first, end] = range_of(a, d);
      auto const copy = [&](std::ptrdiff_t to, std::ptrdiff_t from) {
        auto plane = done;
        plane.first[d] = to;
        plane.end[d] = to + 1;
        index_type k{};
        do {
          auto at = plane.first;
          for (std::size_t e = 0; e < dimensions; ++e) at[e] += static_cast<std::ptrdiff_t>(k[e]);
          auto& image = std::apply(cells, at);
          at[d] = from;
          image = std::apply(cells, at);
        } while (detail::advance(k, plane.counts()));
      };
      auto const least = next.first[d] - static_cast<std::ptrdiff_t>(Reach::before[d]);
      auto const most = next.end[d] + static_cast<std::ptrdiff_t>(Reach::after[d]);
      for (auto to = least; to < first; ++to) copy(to, 2 * first - 1 - to);
      for (auto to = end; to < most; ++to) copy(to, 2 * end - 1 - to);
      // Later dimensions copy these images too, which fills the corners.
      if (least < first) done.first[d] = least;
      if (most > end) done.end[d] = most;
    }
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
