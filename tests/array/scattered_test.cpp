// SPDX-License-Identifier: BSL-1.0
// Cells moved by lists of indices and by masks, compared with arrays of one rank.
// test: unit distributions
#include <algorithm>
#include <array>
#include <numeric>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/fence.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <thread>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

template <std::size_t N>
cell_index<N> index_of(cell_index<N> const& extents, std::size_t k) {
  cell_index<N> i{};
  for (std::size_t d = N; d-- > 0; k /= extents[d]) i[d] = k % extents[d];
  return i;
}

/// Numbers of different cells: in any order, in ascending order, or in a regular pattern.
std::vector<std::size_t> some_cells(random_source& rng, std::size_t size) {
  std::vector<std::size_t> chosen;
  std::size_t const step = 1 + rng.below(3);
  bool const regular = rng.one_in(3);
  for (std::size_t k = regular ? rng.below(step) : 0; k < size; k += regular ? step : 1) {
    if (regular || rng.one_in(2)) chosen.push_back(k);
  }
  if (rng.one_in(2)) {
    for (std::size_t k = chosen.size(); k > 1; --k) std::swap(chosen[k - 1], chosen[rng.below(k)]);
  }
  return chosen;
}

template <class Array>
auto indices_of(Array const& a, std::vector<std::size_t> const& numbers) {
  if constexpr (Array::dimensions == 1) {
    return numbers;
  } else {
    std::vector<cell_index<Array::dimensions>> indices;
    for (std::size_t k : numbers) indices.push_back(index_of(a.extents(), k));
    return indices;
  }
}

/// One rank's share of a list.
std::vector<std::size_t> share_of(std::vector<std::size_t> const& list, rank_t rank, rank_t ranks) {
  std::vector<std::size_t> mine;
  for (auto k = static_cast<std::size_t>(rank); k < list.size(); k += static_cast<std::size_t>(ranks)) {
    mine.push_back(list[k]);
  }
  return mine;
}

template <std::size_t N>
std::vector<std::size_t> chosen_in(cell_index<N> const& extents, box<N> const& b,
                                   std::vector<bool> const& mask) {
  std::vector<std::size_t> numbers;
  for_each_cell(extents, b, [&](std::size_t k, std::size_t in_box) {
    if (mask[in_box]) numbers.push_back(k);
  });
  return numbers;
}
std::vector<bool> some_mask(random_source& rng, std::size_t size) {
  std::vector<bool> mask(size);
  bool const regular = rng.one_in(3);  // like red and black cells
  for (std::size_t k = 0; k < size; ++k) mask[k] = regular ? k % 2 == 0 : rng.one_in(2);
  return mask;
}

template <std::size_t N, class Team, class Rule>
void check(Team& team, std::uint64_t seed, cell_index<N> const& extents, Rule const& rule) {
  random_source same(seed);
  random_source own(seed + 1000 * static_cast<std::uint64_t>(team.rank() + 1));
  auto a = make_array<cell>(team, extents, rule);
  doubled<decltype(a)> both(std::move(a), 1);
  auto const& array = both.array;
  auto const sums = make_array<std::uint32_t>(team, extents, rule);
  std::vector<std::uint32_t> serial_sums(array.size());
  std::string const on = " on " + array.layout().describe();

  pgas::fence epoch{array};
  pgas::fence adding{sums};
  for (std::uint32_t round = 1; round <= 4; ++round) {
    // Each rank puts its share of the list; then each gets cells of its own choice.
    auto const all = some_cells(same, array.size());
    for (std::size_t k : all) both.serial[k].round = round;
    auto const values_of = [&](std::vector<std::size_t> const& numbers) {
      std::vector<cell> values;
      for (std::size_t k : numbers) values.push_back(both.serial[k]);
      return values;
    };
    auto const mine = share_of(all, team.rank(), team.size());
    auto const own_values = values_of(mine);
    epoch.put(indices_of(array, mine), own_values);
    epoch.next();
    auto wanted = some_cells(own, array.size());
    if (!wanted.empty()) wanted.push_back(wanted[own.below(wanted.size())]);  // one of them twice
    std::vector<cell> seen(wanted.size());
    epoch.get(indices_of(array, wanted), seen);
    require(seen == values_of(wanted), "cells got by their indices" + on);
    epoch.next();

    // One rank puts the cells that a mask chooses in a box; all ranks get the cells of their own masks.
    auto const b = some_box(same, extents);
    auto const mask = some_mask(same, b.size());
    auto const masked = chosen_in(extents, b, mask);
    for (std::size_t k : masked) both.serial[k].round = round + 100;
    auto const masked_values = values_of(masked);
    if (team.rank() == same.rank_below(team.size())) epoch.put(b, mask, masked_values);
    epoch.next();
    auto const mine_too = some_mask(own, array.size());
    auto const chosen = chosen_in(extents, {{}, extents}, mine_too);
    seen.assign(chosen.size(), {});
    epoch.get({{}, extents}, mine_too, seen);
    require(seen == values_of(chosen), "cells got by a mask" + on);
    epoch.next();

    // All ranks add to the same cells, some of them named twice: by indices, by a mask and to a box.
    auto added = some_cells(same, array.size());
    if (!added.empty()) added.push_back(added[same.below(added.size())]);
    std::vector<std::uint32_t> amounts;
    for (std::size_t k = 0; k < added.size(); ++k) {
      amounts.push_back(static_cast<std::uint32_t>(same.below(1000)));
      serial_sums[added[k]] += amounts.back() * static_cast<std::uint32_t>(team.size());
    }
    adding.accumulate(indices_of(sums, added), amounts);
    amounts.assign(masked.size(), round);
    for (std::size_t k : masked) serial_sums[k] += round * static_cast<std::uint32_t>(team.size());
    adding.accumulate(b, mask, amounts);
    amounts.assign(b.size(), 7);
    for_each_cell(extents, b, [&](std::size_t k, std::size_t) {
      serial_sums[k] += 7 * static_cast<std::uint32_t>(team.size());
    });
    adding.accumulate(b, amounts);
    adding.next();
    std::vector<std::uint32_t> total(sums.size());
    adding.get({{}, extents}, total);
    adding.flush_local_all();
    require(total == serial_sums, "sums of all ranks" + on);
    adding.next();
  }
  epoch.close();
  adding.close();
  both.check();
}

}  // namespace

TEST_CASE("scattered: cells moved by indices and by masks equal those of serial arrays") {
  everywhere<few_models>([](auto& team) {
    check<1>(team, 1, {61}, tiled{block{}});
    check<1>(team, 2, {50}, tiled{block_cyclic<>{3}});
    check<1>(team, 3, {0}, tiled{block{}});
    check<2>(team, 4, {7, 9}, tiled{block{}, block_cyclic<2>{}}.padded(64));
    check<2>(team, 5, {8, 7}, cyclic_tiles<3, 2>{});
    check<3>(team, 6, {3, 4, 5}, tiled{cyclic{}, block{}, block{}});
  });
}

TEST_CASE("arrays: requests of boxes, single cells, lists and masks move like transfers without requests") {
  everywhere<few_models>([](auto& team) {
    auto const a = make_array<int>(team, {7, 9}, tiled{block{}, block_cyclic<2>{}});
    auto const line = make_array<int>(team, {40});
    box<2> const all{{}, {7, 9}};
    box<2> const middle{{1, 2}, {5, 6}};
    std::vector<int> expected(63);
    std::iota(expected.begin(), expected.end(), 100);
    std::vector<std::size_t> const numbers{62, 3, 4, 5, 40, 3};  // one of them twice
    auto const list = indices_of(a, numbers);
    std::vector<bool> red(30);
    for (std::size_t k = 0; k < 30; k += 2) red[k] = true;
    auto const of_middle = chosen_in(a.extents(), middle, red);
    bool const acts = team.rank() == 0;
    pgas::fence epoch{a};
    pgas::fence on_line{line};
    if (acts) {
      auto source = expected;
      auto put = epoch.rput(all, source);
      while (!put.test()) std::this_thread::yield();
      put.wait();
      std::fill(source.begin(), source.end(), -1);
      epoch.rput({6, 8}, 1000).wait();
      epoch.rput(indices_of(a, {17, 16, 2}), std::array{1, 2, 3}).wait();
      epoch.rput(middle, red, std::vector<int>(of_middle.size(), 9)).wait();
      std::array const three{1, 2, 3};
      on_line.rput(3, three).wait();
    }
    expected[62] = 1000;
    expected[17] = 1;
    expected[16] = 2;
    expected[2] = 3;
    for (std::size_t k : of_middle) expected[k] = 9;
    epoch.next();
    on_line.next();
    std::vector<int> seen(63);
    auto get = epoch.rget(all, seen);
    int last = 0;
    epoch.rget({6, 8}, last).wait();
    std::vector<int> listed(list.size());
    epoch.rget(list, listed).wait();
    std::vector<int> masked(of_middle.size());
    epoch.rget(middle, red, masked).wait();
    while (!get.test()) std::this_thread::yield();
    get.wait();
    require(seen == expected && last == 1000, "cells got by requests");
    for (std::size_t k = 0; k < list.size(); ++k) require_equal(listed[k], expected[numbers[k]], "a list");
    require(masked == std::vector<int>(of_middle.size(), 9), "cells got by a mask");
    std::array<int, 4> three{};
    on_line.rget(2, three).wait();
    require(three == std::array{0, 1, 2, 3}, "a request of one dimension");
    epoch.next();
    if (acts) {
      std::vector<int> const ones(63, 1);
      std::span<int const> const few(ones.data(), list.size());
      std::span<int const> const reds(ones.data(), of_middle.size());
      std::vector<int> before(63);
      epoch.raccumulate(all, ones).wait();
      epoch.get_accumulate(all, ones, before);
      for (std::size_t k = 0; k < 63; ++k) require_equal(before[k], expected[k] + 1, "a box before");
      epoch.rget_accumulate(all, ones, before).wait();
      for (std::size_t k = 0; k < 63; ++k) require_equal(before[k], expected[k] + 2, "a box before");
      epoch.raccumulate(list, few).wait();
      std::vector<int> before_list(list.size());
      epoch.get_accumulate(list, few, before_list);
      require_equal(before_list[0], expected[62] + 4, "a list before");
      require_equal(before_list[1], expected[3] + 5, "a cell named twice");
      require_equal(before_list[5], expected[3] + 6, "the same cell, in the order of the list");
      epoch.rget_accumulate(list, few, before_list).wait();
      require_equal(before_list[4], expected[40] + 5, "a list before");
      epoch.raccumulate(middle, red, reds).wait();
      std::vector<int> before_red(of_middle.size());
      epoch.get_accumulate(middle, red, reds, before_red);
      epoch.rget_accumulate(middle, red, reds, before_red, pgas::op::replace{}).wait();
      for (std::size_t k = 0; k < of_middle.size(); ++k) {
        int const listed_thrice = of_middle[k] == 40 ? 3 : 0;
        require_equal(before_red[k], 9 + 3 + listed_thrice + 2, "chosen cells before");
      }
      require_error(errc::invalid_argument, {"get_accumulate", "room for 2 values given for 63 cells"},
                    [&] { epoch.get_accumulate(all, ones, std::span(before).first(2)); });
    }
  });
}

TEST_CASE("arrays: every operation accepts zero cells, as boxes, lists and masks, also at the end") {
  everywhere([](auto& team) {
    auto a = make_array<int>(team, {5, 7}, cyclic_tiles<2, 3>{});
    std::vector<int> none;
    std::span<int const> const from(none);
    std::span<int> const into(none);
    std::vector<cell_index<2>> const list;
    std::vector<bool> const mask;
    fence epoch{a};
    for (box<2> const& at : {box<2>{{0, 0}, {0, 0}}, box<2>{{5, 7}, {0, 0}}, box<2>{{5, 0}, {0, 7}},
                             box<2>{{0, 7}, {5, 0}}, box<2>{{2, 3}, {0, 4}}}) {
      epoch.put(at, from);
      epoch.get(at, into);
      epoch.accumulate(at, from);
      epoch.get_accumulate(at, from, into);
      epoch.rput(at, from).wait();
      epoch.rget(at, into).wait();
      epoch.raccumulate(at, from).wait();
      epoch.rget_accumulate(at, from, into).wait();
      epoch.put(at, mask, from);
      epoch.get(at, mask, into);
      epoch.accumulate(at, mask, from);
      epoch.get_accumulate(at, mask, from, into);
    }
    epoch.put(list, from);
    epoch.get(list, into);
    epoch.accumulate(list, from);
    epoch.get_accumulate(list, from, into);
    epoch.rput(list, from).wait();
    epoch.rget(list, into).wait();
    epoch.close();

    auto const line = make_array<int>(team, 9);
    fence along{line};
    for (std::size_t const first : {std::size_t{0}, std::size_t{9}}) {
      along.put(first, from);
      along.get(first, into);
      along.accumulate(first, from);
      along.rput(first, from).wait();
      along.rget(first, into).wait();
    }
  });
}

TEST_CASE(
    "arrays: memory that is also some of the cells, or is given twice, is refused before anything moves") {
  everywhere(
      [](auto& team) {
        auto a = make_array<int>(team, {6, 6});
        fence epoch{a};
        std::vector<int> both(18, 1);
        std::span<int> const all(both);
        box<2> const half{{0, 0}, {3, 6}};
        std::vector<cell_index<2>> list;
        for_each_cell({6, 6}, half, [&](std::size_t k, std::size_t) {
          list.push_back(index_of<2>({6, 6}, k));
        });
        std::vector<bool> const mask(18, true);
        auto const twice = [](auto const& act) {
          require_error(errc::invalid_argument, {"the values and the room", "its own memory"}, act);
        };
        twice([&] { epoch.get_accumulate(half, all, all); });
        twice([&] { epoch.rget_accumulate(half, all, all).wait(); });
        twice([&] { epoch.get_accumulate(list, all, all); });
        twice([&] { epoch.rget_accumulate(list, all, all).wait(); });
        twice([&] { epoch.get_accumulate(half, mask, all, all); });
        twice([&] { epoch.rget_accumulate(half, mask, all, all).wait(); });
        twice([&] { epoch.get_accumulate({{0, 0}, {2, 6}}, all.first(12), all.subspan(6, 12)); });
        if constexpr (requires { a.window().local().data(); }) {
          box<2> const mine = a.own_box();
          if (mine.count[0] < 2) return;
          int* const own = a.window().local().data();
          auto const overlaps = [](auto const& act) {
            require_error(errc::invalid_argument, {"source and destination overlap on rank"}, act);
          };
          box<2> const row{mine.first, {1, 6}};
          box<2> const next{{mine.first[0] + 1, 0}, {1, 6}};
          std::vector<cell_index<2>> reversed;
          for (std::size_t j = 6; j-- > 0;) reversed.push_back({mine.first[0], j});
          std::vector<bool> const six(6, true);
          std::span<int const> const from(own, 6);
          std::span<int> const into(own, 6);
          std::vector<int> other(6);
          overlaps([&] { epoch.put(row, from); });
          overlaps([&] { epoch.get(row, into); });
          overlaps([&] { epoch.accumulate(row, from); });
          overlaps([&] { epoch.get_accumulate(row, from, other); });
          overlaps([&] { epoch.get_accumulate(row, other, into); });
          overlaps([&] { epoch.rput(row, from).wait(); });
          overlaps([&] { epoch.rget(row, into).wait(); });
          overlaps([&] { epoch.put(reversed, from); });
          overlaps([&] { epoch.get(reversed, into); });
          overlaps([&] { epoch.accumulate(reversed, from); });
          overlaps([&] { epoch.put(row, six, from); });
          overlaps([&] { epoch.get(row, six, into); });
          epoch.put(next, from);
          epoch.accumulate(next, from);
          epoch.put(next, six, from);
        }
      },
      {1, 2});
}

TEST_CASE("scattered: indices, masks and values that do not fit are refused before any transfer") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {4, 5});
        pgas::fence epoch{a};
        std::string const self = "rank " + std::to_string(team.rank());
        std::vector<int> values{7, 8};
        using indices = std::vector<cell_index<2>>;
        require_error(errc::out_of_range, {self, "put", "cell (4, 0)", "4 x 5"}, [&] {
          epoch.put(indices{{0, 0}, {4, 0}}, values);
        });
        require_error(errc::invalid_argument, {self, "get", "2 values given for 3 indices"}, [&] {
          epoch.get(indices{{0, 0}, {1, 0}, {2, 0}}, values);
        });
        box<2> const some{{1, 1}, {1, 3}};
        require_error(errc::invalid_argument, {self, "put", "a mask of 2 given for a box of 1 x 3 cells"},
                      [&] {
                        epoch.put(some, std::vector<bool>{true, true}, values);
                      });
        require_error(errc::invalid_argument,
                      {self, "accumulate", "2 values given for 1 cells that the mask"}, [&] {
                        epoch.accumulate(some, std::array{true, false, false}, values);
                      });
        require_error(errc::out_of_range, {self, "get", "1 x 3 cells do not fit at (0, 4)", "4 x 5"}, [&] {
          epoch.get({{0, 4}, {1, 3}}, std::vector<bool>{true, true, false}, values);
        });
        epoch.next();
        std::vector<int> all(20);
        epoch.get({{}, {4, 5}}, all);
        epoch.close();
        require(all == std::vector<int>(20), "a refused put changes no cell");
        require_error(errc::wrong_order, {self, "put", "closed"}, [&] {
          epoch.put(indices{{0, 0}, {1, 0}}, values);
        });
        require_error(errc::wrong_order, {self, "get", "closed"}, [&] { epoch.get(indices{}, {}); });
      },
      {2});
}

TEST_CASE("scattered: cells of one owner that are adjacent or equally spaced are one transfer") {
  using run = std::pair<rank_t, rows_of>;
  auto const runs = [](std::vector<std::pair<rank_t, std::size_t>> const& cells, bool neighbours_only) {
    pgas::detail::collected_cells const collected(cells.size(), [&](auto const& use) {
      for (auto const& [owner, offset] : cells) use(owner, offset);
    });
    std::vector<run> found;
    collected.for_each_run(neighbours_only, [&](rank_t owner, rows_of block, std::size_t) {
      found.push_back({owner, block});
    });
    return found;
  };
  auto const same = [](run const& a, rank_t owner, rows_of const& b) {
    return a.first == owner && a.second.first == b.first && a.second.rows == b.rows &&
           a.second.cols == b.cols && (b.rows == 1 || a.second.pitch == b.pitch);
  };
  CHECK(runs({}, false).empty());
  auto const sorted = runs({{1, 7}, {0, 4}, {0, 3}, {1, 8}, {0, 5}}, true);
  REQUIRE(sorted.size() == 2);
  CHECK(same(sorted[0], 0, {.first = 3, .rows = 1, .cols = 3, .pitch = 3}));
  CHECK(same(sorted[1], 1, {.first = 7, .rows = 1, .cols = 2, .pitch = 2}));
  auto const spaced = runs({{0, 9}, {0, 1}, {0, 5}, {0, 10}}, false);
  REQUIRE(spaced.size() == 2);
  CHECK(same(spaced[0], 0, strided(1, 3, 4)));
  CHECK(same(spaced[1], 0, {.first = 10, .rows = 1, .cols = 1, .pitch = 1}));
  CHECK(runs({{0, 9}, {0, 1}, {0, 5}, {0, 10}}, true).size() == 3);
  CHECK(runs({{0, 2}, {0, 2}, {0, 3}}, false).size() == 2);  // one of them twice
}

TEST_CASE("arrays: the extent of one dimension may stand in braces, like those of more") {
  everywhere<few_models>(
      [](auto& team) {
        std::size_t const n = 9;
        require_equal(make_array<int>(team, {n}).size(), n, "cells");
        require_equal(make_array<int>(team, {n}, halo{.width = 1}).size(), n, "cells with a halo");
        require_equal(make_array<int>(team, {n}, cyclic{}).size(), n, "cells of a layout");
      },
      {2});
}
