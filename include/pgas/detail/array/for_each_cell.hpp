// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/array/part_box.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

// clang warns of loops with this attribute that it cannot vectorize; calls through a cache are such loops.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
/// Calls use(i) for first <= i < end in an unspecified order. The compiler may interleave the calls.
template <class Use>
[[gnu::always_inline]] inline void for_each_unsequenced(std::ptrdiff_t first, std::ptrdiff_t end,
                                                        Use const& use) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::ptrdiff_t i = first; i < end; ++i) use(i);
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <std::size_t d, std::size_t N, class Use, class... Indices>
[[gnu::always_inline]] inline void for_each_cell_from(part_box<N> const& cells, Use const& use,
                                                      Indices... index) {
  if constexpr (d + 1 == N) {
    for_each_unsequenced(
        cells.first[d],
        cells.end[d], [&](std::ptrdiff_t i) __attribute__((always_inline)) { use(index..., i); });
  } else {
    for (std::ptrdiff_t i = cells.first[d]; i < cells.end[d]; ++i)
      for_each_cell_from<d + 1>(cells, use, index..., i);
  }
}

}  // namespace detail

/// Calls use(indices) for each cell of a box of this rank's part, in an unspecified order:
/// `for_each_cell(own_cells(a), [&](auto i, auto j) { v(i, j) = u(i - 1, j) + u(i + 1, j); });`. Local.
///
/// Requires that no call writes what another call reads or writes. The compiler may therefore interleave the
/// calls for one row: it vectorizes loops over several fields, without a comparison of addresses, on local
/// views, too. In a loop that a program writes it must compare them, and g++ gives up after ten comparisons.
/// A call must not throw, and `use` should be small enough to be inlined. Free of costs beside the calls.
/// The standard: std::for_each with std::execution::unseq. Kokkos: parallel_for over an MDRangePolicy.
template <std::size_t N, class Use>
[[gnu::always_inline]] inline void for_each_cell(part_box<N> const& cells, Use const& use) {
  auto const box = cells;  // its own copy, which stores of `use` do not change
  detail::for_each_cell_from<0>(box, use);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
