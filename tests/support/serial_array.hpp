// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <ostream>
#include <pgas/tiles.hpp>
#include <utility>
#include <vector>

#include "ranks.hpp"

/// Distributed arrays, and the serial arrays that they must equal, which every rank has whole.
namespace pgas_test {

using pgas::box;

/// A body of many layouts is compiled for each of these, so they are few. (One rank is among the numbers of
/// ranks of each model.)
using few_models = PGAS_TEST_LIST::boxes;

/// 12 bytes, so that the starts of lines and elements coincide on every third line only.
struct cell {
  std::uint32_t array = 0;
  std::uint32_t number = 0;
  std::uint32_t round = 0;

  friend bool operator==(cell const&, cell const&) = default;
  friend std::ostream& operator<<(std::ostream& out, cell const& c) {
    return out << c.number << " of array " << c.array << ", round " << c.round;
  }
};

template <std::size_t N>
using cell_index = std::array<std::size_t, N>;

template <std::size_t N>
std::size_t number(cell_index<N> const& extents, cell_index<N> const& i) {
  return pgas::detail::element_at(i, pgas::detail::dense_pitches(extents));
}

/// A box of cells of an array that one rank has whole.
template <std::size_t N, class Use>
void for_each_cell(cell_index<N> const& extents, box<N> const& b, Use&& use) {
  if (b.size() == 0) return;
  cell_index<N> i{};
  std::size_t k = 0;
  do {
    cell_index<N> at = b.first;
    for (std::size_t d = 0; d < N; ++d) at[d] += i[d];
    use(number(extents, at), k++);
  } while (pgas::detail::advance(i, b.count));
}

/// Calls use(indices of an own cell in local(), its global index) for each own cell.
template <class Array, class Use>
void for_each_own(Array const& a, Use&& use) {
  auto const own = a.local_extents();
  if (box<Array::dimensions>{{}, own}.size() == 0) return;
  cell_index<Array::dimensions> i{};
  do {
    use(i, std::apply([&](auto... each) { return a.global_index(each...); }, i));
  } while (pgas::detail::advance(i, own));
}

template <class View, std::size_t N>
decltype(auto) at(View const& v, cell_index<N> const& i) {
  if constexpr (N == 1) {
    return v[i[0]];
  } else {
    return v[i];
  }
}

/// An array with its serial double.
template <class Array>
struct doubled {
  static constexpr std::size_t N = Array::dimensions;

  doubled(Array a, std::uint32_t name) : array(std::move(a)), serial(array.size()) {
    for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = {name, static_cast<std::uint32_t>(k), 0};
    fill();
  }

  /// Stores the serial array's values to this rank's own cells.
  void fill() const {
    for (auto const tile : pgas::tiles(array)) {
      auto const view = tile.view();
      cell_index<N> i{};
      do {
        cell_index<N> global = tile.cells().first;
        for (std::size_t d = 0; d < N; ++d) global[d] += i[d];
        at(view, i) = serial[number(array.extents(), global)];
      } while (pgas::detail::advance(i, tile.cells().count));
    }
  }

  /// Requires that this rank's own cells equal those of the serial array.
  void check() const {
    for (auto const tile : pgas::tiles(array)) {
      auto const view = tile.view();
      for_each_cell(array.extents(), tile.cells(), [&](std::size_t k_serial, std::size_t k) {
        cell_index<N> i{};
        for (std::size_t d = N; d-- > 0; k /= tile.cells().count[d]) i[d] = k % tile.cells().count[d];
        require_equal(static_cast<cell>(at(view, i)), serial[k_serial], "cell of a tile");
      });
    }
  }

  Array array;
  std::vector<cell> serial;
};

template <std::size_t N>
box<N> some_box(random_source& rng, cell_index<N> const& extents) {
  box<N> b;
  for (std::size_t d = 0; d < N; ++d) {
    b.count[d] = rng.below(extents[d] + 1);
    b.first[d] = rng.below(extents[d] - b.count[d] + 1);
  }
  return b;
}

}  // namespace pgas_test
