// SPDX-License-Identifier: BSL-1.0
// Cells copied between arrays of different layouts equal those copied between arrays of one rank.
// test: unit distributions
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/histogram.hpp>
#include <pgas/algorithm/transpose.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/redistribute.hpp>
#include <pgas/stage.hpp>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

template <class Source, class Target>
void copy_serial(Source const& source, box<Source::N> const& b, Target& target,
                 cell_index<Source::N> const& first) {
  std::vector<cell> values(b.size());
  for_each_cell(source.array.extents(), b,
                [&](std::size_t k, std::size_t in_box) { values[in_box] = source.serial[k]; });
  for_each_cell(target.array.extents(), {first, b.count},
                [&](std::size_t k, std::size_t in_box) { target.serial[k] = values[in_box]; });
}

/// Copies each array to each other one: random boxes between random extents, and whole arrays.
template <std::size_t N, class Team, class... Rules>
void copy_all_pairs(Team& team, std::uint64_t seed, std::size_t largest, Rules const&... rules) {
  random_source same(seed);
  std::uint32_t name = 0;
  auto const some_extents = [&] {
    cell_index<N> extents;
    for (auto& e : extents) e = same.one_in(8) ? same.below(2) : 1 + same.below(largest);
    return extents;
  };
  auto const fixed = some_extents();
  bool fix = false;
  auto const make = [&](auto const& rule) {
    auto a = make_array<cell>(team, fix ? fixed : some_extents(), rule);
    return doubled<decltype(a)>(std::move(a), name++);
  };
  auto const for_each_pair = [](auto& arrays, auto const& use) {
    std::apply(
        [&](auto&... from) {
          auto const to_all = [&](auto& one) {
            std::apply([&](auto&... to) { (use(one, to), ...); }, arrays);
          };
          (to_all(from), ...);
        },
        arrays);
  };
  {
    std::tuple arrays{make(rules)...};
    for_each_pair(arrays, [&](auto& from, auto& to) {
      if (static_cast<void*>(&from) == static_cast<void*>(&to)) return;
      box<N> b;
      cell_index<N> first;
      for (std::size_t d = 0; d < N; ++d) {
        b.count[d] = same.below(std::min(from.array.extent(d), to.array.extent(d)) + 1);
        b.first[d] = same.below(from.array.extent(d) - b.count[d] + 1);
        first[d] = same.below(to.array.extent(d) - b.count[d] + 1);
      }
      pgas::copy(from.array, b, to.array, first);
      copy_serial(from, b, to, first);
      to.check();
    });
  }
  fix = true;
  std::tuple arrays{make(rules)...};
  for_each_pair(arrays, [&](auto& from, auto& to) {
    if (static_cast<void*>(&from) == static_cast<void*>(&to)) return;
    pgas::copy(from.array, to.array);
    to.serial = from.serial;
    to.check();
    // The source may change at once. Other ranks see the copied cells after the next fence.
    for (auto& c : from.serial) ++c.round;
    from.fill();
    rank_t const reader = same.rank_below(team.size());
    pgas::fence epoch{to.array, read_only};
    if (team.rank() == reader) {
      std::vector<cell> all(to.array.size());
      epoch.get({{}, to.array.extents()}, all);
      epoch.flush_local_all();
      require(all == to.serial, "another rank sees all copied cells");
    }
  });
}

}  // namespace

TEST_CASE("copy: it works between any two layouts of one dimension") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      copy_all_pairs<1>(team, seed, 300, block{}, block_cyclic<>{2 * seed + 1}, cyclic_tiles<4>{});
    }
  });
}

TEST_CASE("copy: it works between any two layouts of two dimensions") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 11; seed <= 13; ++seed) {
      copy_all_pairs<2>(team, seed, 22, by_rows<2>{}, tiled{block{}, block{}}.on(grid{1, 0}),
                        tiled{block_cyclic<2>{}, block_cyclic<3>{}}.padded(64));
    }
  });
}

TEST_CASE("copy: it works between two layouts of three and of four dimensions") {
  everywhere<few_models>([](auto& team) {
    copy_all_pairs<3>(team, 21, 7, tiled{block{}, block_cyclic<2>{}, block{}}, cyclic_tiles<2, 3, 2>{});
    copy_all_pairs<4>(team, 31, 5, by_rows<4>{}, tiled{cyclic{}, block{}, block{}, block{}});
  });
}

TEST_CASE("copy: ghost cells keep their values, and redistribute makes the array") {
  everywhere<few_models>([](auto& team) {
    auto const a = make_array<int>(team, {6, 5}, cyclic_tiles<2, 2>{});
    for (auto const tile : tiles(a)) {
      for (std::size_t i = 0; i < tile.cells().count[0]; ++i) {
        for (std::size_t j = 0; j < tile.cells().count[1]; ++j)
          tile.view()(i, j) = static_cast<int>((tile.cells().first[0] + i) * 10 + tile.cells().first[1] + j);
      }
    }
    auto const b = redistribute(team, a, tiled{block{}, block{}}, halo{.width = 1});
    auto const seen = stage(b, pgas::read_only);
    auto const own = b.local_extents();
    for (std::ptrdiff_t i = -1; b.own_box().size() != 0 && i <= static_cast<std::ptrdiff_t>(own[0]); ++i) {
      for (std::ptrdiff_t j = -1; j <= static_cast<std::ptrdiff_t>(own[1]); ++j) {
        bool const inside = i >= 0 && j >= 0 && i < static_cast<std::ptrdiff_t>(own[0]) &&
                            j < static_cast<std::ptrdiff_t>(own[1]);
        auto const first = b.own_box().first;
        require_equal(seen(i, j),
                      inside ? static_cast<int>((first[0] + static_cast<std::size_t>(i)) * 10 + first[1] +
                                                static_cast<std::size_t>(j))
                             : 0,
                      "cell of a part");
      }
    }
  });
}

TEST_CASE("copy: boxes that do not fit are refused with both extents") {
  everywhere<few_models>([](auto& team) {
    auto const a = make_array<int>(team, {6, 5}, cyclic_tiles<2, 2>{});
    auto const b = make_array<int>(team, {5, 6});
    std::string const self = "rank " + std::to_string(team.rank());
    require_error(errc::invalid_argument, {self, "copy", "6 x 5", "5 x 6", "name the box"},
                  [&] { pgas::copy(a, b); });
    require_error(errc::out_of_range,
                  {self, "copy", "6 x 5 cells do not fit at (0, 0)", "copied to", "5 x 6"}, [&] {
                    pgas::copy(a, {{}, {6, 5}}, b, {});
                  });
    require_error(errc::out_of_range, {self, "copy", "2 x 2 cells do not fit at (5, 0)", "copied from"}, [&] {
      pgas::copy(a, {{5, 0}, {2, 2}}, b, {});
    });
    require_error(errc::invalid_argument, {self, "copy", "both arrays are one"}, [&] {
      pgas::copy(a, {{}, {1, 1}}, a, {2, 2});
    });
    team.barrier();
  });
}

namespace {

/// Stores each own cell's number in row-major order, plus `more`.
template <class Array>
void number(Array const& a, int more) {
  pgas::iota(a, more);
  pgas::fence{a}.close();
}

/// Requires the numbers of all cells of `a`, as this rank's own part has them.
template <class Array>
void require_numbers(Array const& a, int more, std::string_view what) {
  pgas::for_each_index(a, [&](auto const& index, int const cell) {
    require_equal(cell, more + static_cast<int>(index[0] * a.extent(1) + index[1]), what);
  });
}

}  // namespace

TEST_CASE("copy: arrays of different teams are copied where one team has the ranks of the other") {
  everywhere(
      [](auto& team) {
        auto const whole = make_array<int>(team, {9, 5});
        auto const tiles = make_array<int>(team, {9, 5}, cyclic_tiles<2, 2>{});
        auto const backwards = team.split(0, -team.rank());
        auto const turned = make_array<int>(backwards, {9, 5});
        number(whole, 100);
        copy(whole, turned);
        require_numbers(turned, 100, "a cell on a team in another order");
        number(turned, 200);
        copy(turned, tiles);
        require_numbers(tiles, 200, "a cell that a team in another order has");

        auto const half = team.split(team.rank() % 2);
        auto const small = make_array<int>(half, {9, 5});
        auto const small_tiles = make_array<int>(half, {9, 5}, cyclic_tiles<2, 2>{});
        number(whole, 300);
        team.barrier();
        if (team.rank() % 2 == 0) {  // the other ranks call nothing
          copy(whole, small);
          require_numbers(small, 300, "a cell of the larger team");
          copy(tiles, small_tiles);
          require_numbers(small_tiles, 200, "a cell of tiles on the larger team");
          number(small, 400);
          copy(small, tiles);
          number(small_tiles, 500);
          copy(small_tiles, {{0, 0}, {9, 5}}, whole, {0, 0});
        }
        team.barrier();
        pgas::fence{tiles}.close();
        pgas::fence{whole}.close();
        require_numbers(tiles, 400, "a cell that the smaller team has put");
        require_numbers(whole, 500, "a cell that the smaller team has put from tiles");
      },
      {1, 2, 3, 4});
}

TEST_CASE("copy, transpose, redistribute and histogram refuse teams of different ranks, with a sentence") {
  everywhere(
      [](auto& team) {
        auto const first = team.split(team.rank() < 2 ? 0 : 1);
        auto const second = team.split(team.rank() < 1 ? 0 : 1);
        auto const a = make_array<int>(first, {4, 4});
        auto const b = make_array<int>(second, {4, 4});
        auto const counts = make_array<int>(second, 3);
        auto const refused = [&](std::string const& operation, auto&& act) {
          require_error(errc::invalid_argument,
                        {operation, "one is on a team of 2 ranks", "make both on one team"}, act);
        };
        if (team.rank() == 1) {
          refused("copy", [&] { copy(a, b); });
          refused("transpose", [&] { transpose(a, b); });
          refused("histogram", [&] { histogram(a, std::vector<int>{0, 1, 2, 3}, counts); });
          refused("redistribute", [&] { static_cast<void>(redistribute(second, a, cyclic_tiles<2, 2>{})); });
        }
        team.barrier();
        // Only the ranks of the smaller team have both, so that a fence of the larger one would hang.
        auto const on_all = make_array<int>(team, {4, 4});
        if (team.rank() < 2) {
          require_error(errc::invalid_argument, {"transpose", "not all ranks are in both"},
                        [&] { transpose(on_all, a); });
        }
      },
      {3});
}

TEST_CASE("transform: a rank that has different numbers in two teams finds its own cells in both") {
  everywhere(
      [](auto& team) {
        auto const backwards = team.split(0, -team.rank());
        auto const a = make_array<int>(team, {8, 3});
        auto const b = make_array<int>(backwards, {8, 3});
        number(a, 10);
        number(b, 20);
        if (team.size() == 1) return;
        // Equal layouts give this rank other cells, unless it has one number in both teams.
        bool const differs = a.rank() != b.rank();
        if (differs) {
          require_error(errc::invalid_argument, {"transform", "not aligned"},
                        [&] { transform(a, b, [](int x) { return x; }); });
          require_numbers(b, 20, "a cell that transform has left alone");
        } else {
          transform(a, b, [](int x) { return x; });
          require_numbers(b, 10, "a cell of the same rank in both teams");
        }
      },
      {1, 2, 3});
}
