// SPDX-License-Identifier: BSL-1.0
// Ghost cells of arrays over grids of ranks equal those of a padded serial array: one to four dimensions, any
// widths, fixed, periodic and reflecting edges, with and without corners.
// test: addresses, unit halo
#include <optional>
#include <pgas/distributions/irregular.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/notified_halo.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/padded_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

/// The value due at a place: a different number for each cell and round, and for each cell beyond the array.
template <class Array>
int expected(Array const& a, place<Array::dimensions> at, int round) {
  auto const [seen, within] = image_in(a, at);
  int number = 0;
  for (index_t i : seen) number = number * 40 + static_cast<int>(i + 15);
  return within ? number * 8 + round : -number;
}

/// How the ghost cells are filled.
enum class way { by_posts, notified };

template <class Array>
void check_exchanges(Array const& a, way how = way::by_posts) {
  constexpr std::size_t N = Array::dimensions;
  std::optional<notified_halo<Array>> notified;
  if (how == way::notified && a.shape().halos().any()) notified.emplace(a);
  set_edges(a, [&](auto... at) { return expected(a, place<N>{at...}, 0); });
  for (int round = 0; round < 3; ++round) {
    {
      auto const cells = stage(a, pgas::write_only);
      for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
        if (ghosts == 0) std::apply(cells, local) = expected(a, global, round);
      });
    }
    if (notified) {
      notified->exchange(a);
    } else if (a.shape().halos().any()) {  // else it is refused
      exchange_halo(a);
    }
    auto const cells = stage(a, pgas::read_only);
    for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
      if (ghosts > 1 && !a.shape().halos().corners()) return;
      int const seen = std::apply(cells, local);
      if (seen != expected(a, global, round)) {
        require_equal(seen, expected(a, global, round),
                      cell_text(a, global) + ", round " + std::to_string(round));
      }
    });
  }
}

/// Random extents, widths, edges and grids for one kind of layout.
template <class Team, class Rule>
void check_random(Team& team, std::uint64_t seed, std::size_t largest, std::size_t widest, Rule const& rule,
                  way how = way::by_posts) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int array = 0; array < 5; ++array) {
    auto const extents = some_extents<N>(same, largest);
    std::array<halo_range, N> ranges;
    ranges.fill({widest});
    auto const around = some_halos(same, ranges);
    Rule const chosen = some_places(same, rule, extents, team.size());
    check_exchanges(
        make_array<int>(team, extents, chosen, same.one_in(3) ? around.without_corners() : around), how);
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

TEST_CASE("notified halo: random grids, extents, widths and edges, also wider on one side only") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          check_random(team, seed + 600, 14, 4, by_rows<1>{}, way::notified);
          check_random(team, seed + 700, 9, 3, tiled<block, block>{}, way::notified);
          check_random(team, seed + 800, 6, 2, tiled<block, block, block>{}, way::notified);
        }
      },
      {1, 2, 3, 6, 8});
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

TEST_CASE("halo: blocks of different sizes, some empty, exchange with each other") {
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

TEST_CASE("halo: on a grid, ranks without a common edge or corner do not wait for each other") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a =
            make_array<int>(team, {5, 10}, tiled{block{}, block{}}.on(grid{1, 5}), halo{.width = 1});
        auto const go = make_window<int>(team, 1);
        // The ranks form a row. Rank 0 exchanges only after the last rank has done so; its only neighbour is
        // rank 1.
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

TEST_CASE(
    "halo: the emulated chip, which sees every race and every stale copy, reports none for grids of blocks") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          check_random(team, seed + 500, 9, 2, tiled<block, block>{});
          check_random(team, seed + 500, 9, 2, tiled<block, block>{}, way::notified);
        }
      },
      {1, 2, 4, 6});
}
