// SPDX-License-Identifier: BSL-1.0
// Counting, finding and comparing in distributed arrays gives the results of the standard's algorithms on one
// rank, on every layout.
// test: unit algorithm
#include <algorithm>
#include <functional>
#include <numeric>
#include <pgas/algorithm/any_of.hpp>
#include <pgas/algorithm/count.hpp>
#include <pgas/algorithm/min_element.hpp>
#include <pgas/algorithm/transform_reduce.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

constexpr std::initializer_list<rank_t> up_to_five{1, 2, 3, 4, 5};

template <std::size_t N, class Team, class Rule>
void check(Team& team, std::uint64_t seed, cell_index<N> const& extents, Rule const& rule) {
  random_source same(seed);
  auto const a = make_array<int>(team, extents, rule);
  std::vector<int> serial(a.size());
  for (int& value : serial)
    value = static_cast<int>(same.below(serial.size() + 1));  // some occur more than once
  for_each_index(a, [&](auto const& i, int& cell) { cell = serial[number(extents, i)]; });

  std::string const where = " on " + a.layout().describe() + " of " + pgas::detail::joined(extents, " x ");
  auto const require_at = [&](auto const& found, auto expected, std::string const& what) {
    require_equal(found.has_value(), expected != serial.end(), what + " finds something" + where);
    if (found)
      require_equal(number(extents, *found), static_cast<std::size_t>(expected - serial.begin()),
                    what + where);
  };
  auto const most = static_cast<int>(serial.size());
  for (int wanted : {0, most / 2, most, most + 1}) {
    std::function<bool(int const&)> const is_larger = [=](int x) { return x > wanted; };
    require_equal(count(team, a, wanted),
                  static_cast<std::size_t>(std::count(serial.begin(), serial.end(), wanted)),
                  "count" + where);
    require_equal(count_if(team, a, is_larger),
                  static_cast<std::size_t>(std::count_if(serial.begin(), serial.end(), is_larger)),
                  "count_if" + where);
    require_at(find(team, a, wanted), std::find(serial.begin(), serial.end(), wanted), "find");
    require_at(find_if(team, a, is_larger), std::find_if(serial.begin(), serial.end(), is_larger), "find_if");
    require_equal(any_of(team, a, is_larger), std::any_of(serial.begin(), serial.end(), is_larger),
                  "any_of" + where);
    require_equal(all_of(team, a, is_larger), std::all_of(serial.begin(), serial.end(), is_larger),
                  "all_of" + where);
    require_equal(none_of(team, a, is_larger), std::none_of(serial.begin(), serial.end(), is_larger),
                  "none_of" + where);
  }

  auto const both = minmax_element(team, a);
  require_equal(both.has_value(), !serial.empty(), "minmax_element" + where);
  if (both) {
    auto const smallest = std::min_element(serial.begin(), serial.end());
    auto const largest = std::max_element(serial.begin(), serial.end());
    require_equal(both->min.value, *smallest, "smallest" + where);
    require_equal(both->max.value, *largest, "largest" + where);
    require_at(std::optional(both->min.index), smallest, "place of the smallest");
    require_at(std::optional(both->max.index), largest, "place of the largest");
  }
  std::function<bool(int, int)> const by_last_digit = [](int x, int y) { return x % 10 < y % 10; };
  auto const min = min_element(team, a, by_last_digit);
  auto const max = max_element(team, a, by_last_digit);
  if (min && max) {
    require_at(std::optional(min->index), std::min_element(serial.begin(), serial.end(), by_last_digit),
               "min_element");
    require_at(std::optional(max->index), std::max_element(serial.begin(), serial.end(), by_last_digit),
               "max_element");
  }

  auto const square = [](int x) { return static_cast<long>(x) * x; };
  require_equal(transform_reduce(team, a, 7L, op::sum{}, square),
                std::transform_reduce(serial.begin(), serial.end(), 7L, std::plus<>{}, square),
                "transform_reduce" + where);
  // Two arrays: on the same layout, and on a layout with the same owners and other places.
  auto const b = make_array<int>(team, extents, rule.padded(24));
  transform(a, b, [](int x) { return 3 - x; });
  long dot = 5;
  for (int x : serial) dot += static_cast<long>(x) * (3 - x);
  std::function<long(int, int)> const times = [](int x, int y) { return static_cast<long>(x) * y; };
  require_equal(transform_reduce(team, a, b, 5L, op::sum{}, times), dot,
                "transform_reduce of two arrays" + where);
  require_equal(transform_reduce(team, b, b, 5, op::max{}, std::minus<>{}), 5,
                "differences of the same" + where);
}

}  // namespace

TEST_CASE("algorithm: counting and finding in an array equal the standard's algorithms on one rank") {
  everywhere<few_models>(
      [](auto& team) {
        std::uint64_t seed = 1;
        for (std::size_t extent : {0U, 1U, 3U, 41U}) {
          check<1>(team, seed++, {extent}, by_rows<1>{});
          check<1>(team, seed++, {extent}, tiled{block_cyclic<>{1 + extent % 4}});
        }
        for (auto const& extents : {cell_index<2>{0, 3}, {1, 1}, {7, 9}, {3, 20}}) {
          check<2>(team, seed++, extents, tiled{block_cyclic<2>{}, block_cyclic<3>{}}.padded(64));
          check<2>(team, seed++, extents, cyclic_tiles<3, 2>{});
        }
        check<3>(team, seed++, {4, 3, 5}, by_rows<3>{});
      },
      up_to_five);
}

TEST_CASE(
    "algorithm: of several equal cells, the first in row-major order is found, not the first in memory") {
  everywhere<few_models>(
      [](auto& team) {
        // With one rank, the left tile (rows 0 to 3) precedes the right one in memory.
        auto const a = make_array<int>(team, {4, 4}, cyclic_tiles<4, 2>{});
        fill(a, 1);
        for_each_index(a, [](auto const& i, int& cell) { cell = i[0] + i[1] == 3 ? 2 : 1; });
        require(find(team, a, 2) == std::optional(cell_index<2>{0, 3}), "the first 2 is in row 0");
        require(max_element(team, a)->index == cell_index<2>{0, 3},
                "the first of several largest cells counts");
        require(min_element(team, a)->index == cell_index<2>{0, 0},
                "the first of several smallest cells counts");
      },
      {1, 2, 3});
}

TEST_CASE(
    "algorithm: a dot product of arrays on different layouts is refused on every rank, and names both "
    "layouts") {
  everywhere<few_models>(
      [](auto& team) {
        auto const rows = make_array<int>(team, {2, 2});
        auto const tiles = make_array<int>(team, {2, 2}, cyclic_tiles<1, 1>{});
        // With three ranks, rank 2 owns nothing of the first array and cannot detect the mismatch alone.
        std::string const self = "rank " + std::to_string(team.rank());
        require_error(errc::invalid_argument,
                      {self, "transform_reduce", "2 x 2, tiled(block, whole)", "2 x 2, cyclic_tiles(1 x 1)",
                       "not aligned", "copy one of them"},
                      [&] { static_cast<void>(transform_reduce(team, rows, tiles, 0)); });
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("algorithm: a team other than the array's is refused, with the sizes of both") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {3, 2});
        auto alone = team.self();
        auto const pieces = {"rank " + std::to_string(team.rank()), std::string("team of 1 ranks"),
                             std::string("3 x 2 on 2 ranks"), std::string("pass the array's team")};
        auto const is_positive = [](int x) { return x > 0; };
        require_error(errc::invalid_argument, pieces, [&] { static_cast<void>(count(alone, a, 1)); });
        require_error(errc::invalid_argument, pieces, [&] { static_cast<void>(find(alone, a, 1)); });
        require_error(errc::invalid_argument, pieces,
                      [&] { static_cast<void>(any_of(alone, a, is_positive)); });
        require_error(errc::invalid_argument, pieces, [&] { static_cast<void>(minmax_element(alone, a)); });
        require_error(errc::invalid_argument, pieces, [&] { static_cast<void>(reduce(alone, a, 1)); });
        require_error(errc::invalid_argument, pieces,
                      [&] { static_cast<void>(transform_reduce(alone, a, 1, op::sum{}, std::negate<>{})); });
        team.barrier();
      },
      {2});
}
