// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <functional>
#include <pgas/array/aligned.hpp>
#include <pgas/array/blocks.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// Calls use(global index of a row's first cell, the row as plain memory) for each run of own cells along the last
/// dimension, in the order of memory. Mode is stage's.
template <any_global_array Array, hints Mode, class Use>
void for_each_own_row(Array const& a, hint<Mode> mode, Use&& use) {
  constexpr std::size_t dimensions = Array::dimensions;
  for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
    auto const mine = a.layout().tile_of(a.rank(), k);
    std::array<std::size_t, dimensions> row{};
    do {
      std::array<std::size_t, dimensions> global = mine.cells.first;
      for (std::size_t d = 0; d < dimensions; ++d) global[d] += row[d];
      auto const cells = stage(a.window(), mine.offset_of(global), mine.cells.count[dimensions - 1], mode);
      use(global, cells.span());
    } while (advance(row, mine.cells.count, dimensions - 1));
  }
}

}  // namespace detail

/// Calls f(cell) for each cell, on its owner, in the order of its memory: `for_each(a, [](double& x) { x *= 2; })`.
///
/// Each rank does its own part, so all that want all cells call it; it communicates nothing, and ranks may own nothing.
/// What it stores is seen by others after the next fence. A rank is one thread, and ranks are as many as cores: the
/// standard's parallel execution, which g++ has by TBB, would only divide the same cores once more.
template <any_global_array Array, class F>
  requires std::invocable<F&, typename Array::value_type&>
void for_each(Array const& a, F f) {
  detail::for_each_own_row(a, read_write, [&](auto const&, auto row) {
    for (auto& cell : row) std::invoke(f, cell);
  });
}

/// The same with f(global index, cell).
template <any_global_array Array, class F>
  requires std::invocable<F&, typename Array::index_type const&, typename Array::value_type&>
void for_each_index(Array const& a, F f) {
  detail::for_each_own_row(a, read_write, [&](auto index, auto row) {
    for (auto& cell : row) {
      std::invoke(f, std::as_const(index), cell);
      ++index.back();
    }
  });
}

/// Stores value to each cell. Else like for_each.
template <any_global_array Array>
void fill(Array const& a, typename Array::value_type const& value) {
  detail::for_each_own_row(a, write_only, [&](auto const&, auto row) { std::fill(row.begin(), row.end(), value); });
}

/// Stores first + k to the cell with number k, in row-major order of the whole array. Else like for_each.
template <any_global_array Array>
void iota(Array const& a, typename Array::value_type first) {
  using value_type = typename Array::value_type;
  auto const pitches = detail::dense_pitches(a.extents());
  detail::for_each_own_row(a, write_only, [&](auto const& index, auto row) {
    std::size_t number = detail::element_at(index, pitches);
    for (auto& cell : row) cell = static_cast<value_type>(first + static_cast<value_type>(number++));
  });
}

/// Stores f(cell of `from`) to the cell of `to` with the same index, which one rank must own in both; where in its part
/// does not matter. Else like for_each.
///
/// Throws errc::invalid_argument, before it stores anything, when the extents differ, or this rank owns a cell of `to`
/// and not that of `from`: copy the one to the other's layout first.
template <any_global_array From, any_global_array To, class F>
  requires(From::dimensions == To::dimensions && std::invocable<F&, typename From::value_type const&>)
void transform(From const& from, To const& to, F f) {
  if (!detail::owns_the_same(to, from)) detail::throw_not_aligned("transform", from, to);
  detail::for_each_common_row(to, write_only, from, read_only, [&](auto target, auto source) {
    std::transform(source.begin(), source.end(), target.begin(), std::ref(f));
  });
}

}  // namespace pgas::inline PGAS_ASSERTIONS
