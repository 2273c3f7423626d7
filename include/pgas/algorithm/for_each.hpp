// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <functional>
#include <pgas/detail/array/aligned.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/types/anything.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// Calls use(global index of the first cell, row) for each row of own cells along the last dimension, in the
/// order of memory. A row is plain memory; Mode is that of stage.
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

/// Calls use(run) for runs of own cells without gaps, in the order of memory. Where the own part is plain
/// memory, rows that lie one behind the other are one run; else each row is a run.
template <any_global_array Array, hints Mode, class Use>
void for_each_own_run(Array const& a, hint<Mode> mode, Use&& use) {
  if constexpr (Array::is_contiguous) {
    for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
      auto const mine = a.layout().tile_of(a.rank(), k);
      box_in<Array::dimensions> const part{mine.offset, mine.pitches};
      for_each_block(mine.cells.count, part, part, [&](rows_of block, std::size_t first, std::size_t pitch) {
        for (std::size_t row = 0; row < block.rows; ++row)
          use(stage(a.window(), first + row * pitch, block.cols, mode).span());
      });
    }
  } else {
    for_each_own_row(a, mode, [&](auto const&, auto row) { use(row); });
  }
}

}  // namespace detail

/// Calls f(cell) for each own cell, in the order of memory: `for_each(a, [](double& x) { x *= 2; })`.
///
/// Local: each rank that calls it works on its own part, without communication; ranks may own nothing. Other
/// ranks see the stored values after the next fence.
/// A rank is one thread, and there are as many ranks as cores. The standard's parallel execution would divide
/// the same cores once more.
/// The standard: std::for_each.
template <any_global_array Array, class F>
  requires std::invocable<F&, typename Array::value_type&>
void for_each(Array const& a, F f) {
  detail::for_each_own_run(a, read_write, [&](auto run) {
    for (auto& cell : run) std::invoke(f, cell);
  });
}

/// Calls f(global index, cell) for each own cell. Otherwise like for_each.
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

/// Stores value to each own cell. Otherwise like for_each.
template <any_global_array Array>
void fill(Array const& a, typename Array::value_type const& value) {
  detail::for_each_own_run(a, write_only, [&](auto run) { std::fill(run.begin(), run.end(), value); });
}

/// Stores first + k to each own cell, where k is the number of the cell in row-major order of the whole
/// array. Otherwise like for_each.
template <any_global_array Array>
void iota(Array const& a, typename Array::value_type first) {
  using value_type = typename Array::value_type;
  auto const pitches = detail::dense_pitches(a.extents());
  detail::for_each_own_row(a, write_only, [&](auto const& index, auto row) {
    std::size_t number = detail::element_at(index, pitches);
    for (auto& cell : row) cell = static_cast<value_type>(first + static_cast<value_type>(number++));
  });
}

/// Stores f(cell of `from`) to each own cell of `to`, from the cell with the same index. Otherwise like
/// for_each.
///
/// Requires that each cell has the same owner in both arrays; positions within the parts may differ.
/// Throws errc::invalid_argument before anything is stored if the extents differ, or if this rank owns a cell
/// in `to` but not in `from`. Remedy: copy one array to the other's layout first.
template <any_global_array From, any_global_array To, class F>
  requires(From::dimensions == To::dimensions && std::invocable<F&, typename From::value_type const&>)
void transform(From const& from, To const& to, F f) {
  if (!detail::owns_the_same(to, from)) detail::throw_not_aligned("transform", from, to);
  detail::for_each_common_row(to, write_only, from, read_only, [&](auto target, auto source) {
    std::transform(source.begin(), source.end(), target.begin(), std::ref(f));
  });
}

/// Does not compile: says how own cells are visited.
template <class None = void>
auto for_each(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "for_each: write `pgas::for_each(array, [](double& cell) { ... });` with an array and a "
                "function of one own cell");
}

}  // namespace PGAS_NAMESPACE
