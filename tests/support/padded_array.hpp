// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/exchange_halo.hpp>
#include <utility>

#include "ranks.hpp"
#include "serial_array.hpp"

/// Arrays with ghost cells, compared with serial arrays with padding.
namespace pgas_test {

using index_t = std::ptrdiff_t;
template <std::size_t N>
using place = std::array<index_t, N>;

/// The index whose value is seen at a place within or beyond an array in one dimension; beyond a fixed edge,
/// the place itself.
inline index_t image_of(index_t i, index_t extent, pgas::edge edges) {
  auto const wrapped = [i](index_t period) { return ((i % period) + period) % period; };
  if (edges == pgas::edge::periodic) return wrapped(extent);
  if (edges == pgas::edge::fixed) return i;
  return wrapped(2 * extent) < extent ? wrapped(2 * extent) : 2 * extent - 1 - wrapped(2 * extent);
}

/// The cell whose value is seen at a place, and whether it exists: beyond a fixed edge it does not.
template <class Array>
std::pair<place<Array::dimensions>, bool> image_in(Array const& a, place<Array::dimensions> at) {
  bool within = true;
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    auto const extent = static_cast<index_t>(a.extent(d));
    at[d] = image_of(at[d], extent, a.shape().halo(d).edges);
    within = within && at[d] >= 0 && at[d] < extent;
  }
  return {at, within};
}

/// Calls use(local place, global place, number of dimensions in which it is a ghost) for each cell of a
/// rank's part.
template <class Array, class Use>
void for_each_in_part(Array const& a, rank_t rank, Use&& use) {
  constexpr std::size_t N = Array::dimensions;
  auto const own = a.box_of(rank);
  if (own.size() == 0) return;
  cell_index<N> all;
  for (std::size_t d = 0; d < N; ++d)
    all[d] = own.count[d] + a.shape().halo(d).width + a.shape().halo(d).after;
  cell_index<N> i{};
  do {
    place<N> local;
    place<N> global;
    int ghosts = 0;
    for (std::size_t d = 0; d < N; ++d) {
      local[d] = static_cast<index_t>(i[d]) - static_cast<index_t>(a.shape().halo(d).width);
      global[d] = local[d] + static_cast<index_t>(own.first[d]);
      ghosts += local[d] < 0 || local[d] >= static_cast<index_t>(own.count[d]) ? 1 : 0;
    }
    use(local, global, ghosts);
  } while (pgas::detail::advance(i, all));
}
template <class Array, class Use>
void for_each_in_part(Array const& a, Use&& use) {
  for_each_in_part(a, a.rank(), use);
}

/// Describes a cell and its array in words.
template <class Array>
std::string cell_text(Array const& a, place<Array::dimensions> const& global) {
  return "cell (" + pgas::detail::joined(global, ", ") + ") on rank " + std::to_string(a.rank()) + " of " +
         pgas::detail::array_text(a.extents(), a.shape().halos(), a.layout());
}

/// A random halo of these edges, or of any, with widths between those of `least` and `widest`.
struct halo_range {
  std::size_t widest;
  std::size_t least_before = 0;
  std::size_t least_after = 0;
};
template <std::size_t N>
pgas::halos<N> some_halos(random_source& same, std::array<halo_range, N> const& ranges,
                          bool may_reflect = true) {
  auto const one = [&](halo_range const& range) {
    constexpr pgas::edge kinds[] = {pgas::edge::fixed, pgas::edge::periodic, pgas::edge::reflecting};
    auto const edges = kinds[same.below(may_reflect ? 3 : 2)];
    auto const width = [&](std::size_t least) {
      return least >= range.widest ? least : least + same.below(range.widest - least + 1);
    };
    std::size_t const before = width(range.least_before);
    std::size_t const after = same.one_in(3) ? width(range.least_after) : std::max(before, range.least_after);
    return pgas::halo{.width = before, .edges = edges, .after = after};
  };
  if constexpr (N == 1) {
    return pgas::halos<1>(one(ranges[0]));
  } else {
    return [&]<std::size_t... d>(std::index_sequence<d...>) {
      return pgas::halos<N>{one(ranges[d])...};
    }(std::make_index_sequence<N>{});
  }
}

template <std::size_t N>
cell_index<N> some_extents(random_source& same, std::size_t largest) {
  cell_index<N> extents;
  for (auto& e : extents) e = same.one_in(9) ? same.below(2) : 1 + same.below(largest);
  return extents;
}

/// The rule on some grid, or with rows that start on lines.
template <class Rule>
Rule some_places(random_source& same, Rule const& rule, cell_index<Rule::dimensions> const& extents,
                 rank_t ranks) {
  constexpr std::size_t N = Rule::dimensions;
  Rule chosen = same.one_in(3) ? rule.padded(64) : rule;
  if (same.one_in(3)) {  // all ranks along one dimension, which need not be the first
    std::array<rank_t, N> only;
    only.fill(1);
    only[same.below(N)] = 0;
    if (!chosen.on(pgas::grid<N>(only)).error_for(extents, ranks)) chosen = chosen.on(pgas::grid<N>(only));
  } else if (same.one_in(2)) {
    auto const in_nodes = chosen.on(pgas::grid<N>{}.in_nodes_of(2));
    if (!in_nodes.error_for(extents, ranks)) chosen = in_nodes;
  }
  return chosen;
}

}  // namespace pgas_test
