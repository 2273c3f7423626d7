// SPDX-License-Identifier: BSL-1.0
// Ghost cells of arrays over grids of ranks hold what a padded serial array holds: one to four dimensions, any widths,
// fixed, periodic and reflecting edges, with and without corners.
#include <pgas/distributions/irregular.hpp>
#include <pgas/halo.hpp>
#include <utility>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

using index_t = std::ptrdiff_t;
template <std::size_t N>
using place = std::array<index_t, N>;

/// The index that is seen at a place within or beyond an array in one dimension; beyond a fixed edge the place itself.
index_t image_of(index_t i, index_t extent, edge edges) {
  auto const wrapped = [i](index_t period) { return ((i % period) + period) % period; };
  if (edges == edge::periodic) return wrapped(extent);
  if (edges == edge::fixed) return i;
  return wrapped(2 * extent) < extent ? wrapped(2 * extent) : 2 * extent - 1 - wrapped(2 * extent);
}

/// What there must be at a place: a number of its own for each cell within the array and round, and for each beyond.
template <class Array>
int expected(Array const& a, place<Array::dimensions> at, int round) {
  bool within = true;
  int number = 0;
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    auto const extent = static_cast<index_t>(a.extent(d));
    at[d] = image_of(at[d], extent, a.shape().halo(d).edges);
    within = within && at[d] >= 0 && at[d] < extent;
    number = number * 40 + static_cast<int>(at[d] + 15);
  }
  return within ? number * 8 + round : -number;
}

/// Calls use(local place, global place, in how many dimensions it is a ghost) for each cell of this rank's part.
template <class Array, class Use>
void for_each_in_part(Array const& a, Use&& use) {
  constexpr std::size_t N = Array::dimensions;
  auto const own = a.own_box();
  if (own.size() == 0) return;
  cell_index<N> all;
  for (std::size_t d = 0; d < N; ++d) all[d] = own.count[d] + a.shape().halo(d).width + a.shape().halo(d).after;
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

template <class Array>
void check_exchanges(Array const& a) {
  constexpr std::size_t N = Array::dimensions;
  set_edges(a, [&](auto... at) { return expected(a, place<N>{at...}, 0); });
  for (int round = 0; round < 3; ++round) {
    {
      auto const cells = stage<pgas::write>(a);
      for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
        if (ghosts == 0) std::apply(cells, local) = expected(a, global, round);
      });
    }
    exchange_halo(a);
    auto const cells = stage<pgas::read>(a);
    for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
      if (ghosts > 1 && !a.shape().halos().corners()) return;
      int const seen = std::apply(cells, local);
      if (seen != expected(a, global, round)) {
        require_equal(seen, expected(a, global, round),
                      "cell (" + pgas::detail::joined(global, ", ") + ") on rank " + std::to_string(a.rank()) + " of " +
                          pgas::detail::array_text(a.extents(), a.shape().halos(), a.layout()) + ", round " +
                          std::to_string(round));
      }
    });
  }
}

/// Random extents, widths, edges and grids for one kind of layout.
template <class Team, class Rule>
void check_random(Team& team, std::uint64_t seed, std::size_t largest, std::size_t widest, Rule const& rule) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int array = 0; array < 5; ++array) {
    cell_index<N> extents;
    for (auto& e : extents) e = same.one_in(9) ? same.below(2) : 1 + same.below(largest);
    auto const some_halo = [&] {
      constexpr edge kinds[] = {edge::fixed, edge::periodic, edge::reflecting};
      halo h{.width = same.below(widest + 1), .edges = kinds[same.below(3)]};
      if (same.one_in(3)) h.after = same.below(widest + 1);
      return h;
    };
    auto const around = [&]<std::size_t... d>(std::index_sequence<d...>) {
      if constexpr (N == 1) {
        return halos<1>(some_halo());
      } else {
        return halos<N>{(static_cast<void>(d), some_halo())...};
      }
    }(std::make_index_sequence<N>{});
    Rule chosen = same.one_in(3) ? rule.padded(64) : rule;
    if (same.one_in(3)) {  // all ranks along one dimension, which need not be the first
      std::array<rank_t, N> only;
      only.fill(1);
      only[same.below(N)] = 0;
      if (chosen.on(grid<N>(only)).objection(extents, team.size()).empty()) chosen = chosen.on(grid<N>(only));
    }
    check_exchanges(make_array<int>(team, extents, chosen, same.one_in(3) ? around.without_corners() : around));
  }
}

}  // namespace

TEST_CASE("halo: random grids, extents, widths and edges in one dimension and two") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
          check_random(team, seed, 14, 4, by_rows<1>{});
          check_random(team, seed + 100, 9, 3, tiled<block, block>{});
        }
      },
      {1, 2, 3, 4, 6, 9});
}

TEST_CASE("halo: random grids, extents, widths and edges in three dimensions and four") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          check_random(team, seed + 200, 6, 2, tiled<block, block, block>{});
          check_random(team, seed + 300, 6, 2, by_rows<3>{});
          check_random(team, seed + 400, 4, 1, tiled<block, whole, block, block>{});
        }
      },
      {1, 2, 4, 6, 8});
}

TEST_CASE("halo: blocks of any sizes beside each other, also empty ones") {
  everywhere<few_models>([](auto& team) {
    std::vector<std::size_t> sizes;
    for (rank_t r = 0; r < team.size(); ++r) sizes.push_back(static_cast<std::size_t>(r * 7 % 4));
    irregular const rows(sizes);
    for (edge edges : {edge::fixed, edge::periodic, edge::reflecting}) {
      check_exchanges(
          make_array<int>(team, {rows.extent(), 5}, tiled{rows, whole{}}, halo{.width = 2, .edges = edges}));
    }
  });
}

TEST_CASE("halo: on a grid ranks without a common edge or corner do not wait for each other") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {5, 10}, tiled{block{}, block{}}.on(grid{1, 5}), halo{.width = 1});
        auto const go = make_window<int>(team, 1);
        // Ranks stand in a row. Rank 0 exchanges only when the last rank has done so; rank 1 is its only neighbour.
        if (team.rank() == 0) {
          lock_all epoch{go};
          while (epoch.atomic_load(0, 0) == 0) std::this_thread::yield();
        }
        if (team.rank() >= 2 || team.rank() == 0) exchange_halo(a);
        if (team.rank() == team.size() - 1) {
          lock_all epoch{go};
          epoch.atomic_store(0, 0, 1);
        }
        if (team.rank() == 1) exchange_halo(a);
      },
      {5});
}

TEST_CASE("halo: grids of blocks on the emulated chip, which sees every race and every copy that is too old") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) check_random(team, seed + 500, 9, 2, tiled<block, block>{});
      },
      {1, 2, 4, 6});
}
