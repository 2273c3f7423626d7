// SPDX-License-Identifier: BSL-1.0
// Algorithms on distributed arrays give the results of the standard's algorithms on one rank, on every
// layout.
// test: unit algorithm
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/reduce.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using pgas::make_array;

namespace {

/// Returns all cells of an array, in row-major order, on every rank.
template <class Array>
std::vector<typename Array::value_type> all_cells(Array const& a) {
  std::vector<typename Array::value_type> all(a.size());
  pgas::fence epoch{a, pgas::read_only};
  epoch.get({{}, a.extents()}, all);
  epoch.close();
  return all;
}

double value_of(std::size_t k) { return 1.0 / (3.0 + static_cast<double>(k * 7919 % 1013)); }

/// Runs every algorithm on one layout, and returns the sum by rows.
template <std::size_t N, class Team, class Rule>
double check(Team& team, cell_index<N> const& extents, Rule const& rule) {
  std::vector<double> serial(box<N>{{}, extents}.size());
  auto const require_same = [&](auto const& array, char const* what) {
    require(all_cells(array) == serial, std::string(what) + " on " + array.layout().describe());
  };
  auto const a = make_array<double>(team, extents, rule);
  pgas::fill(a, 2.5);
  std::fill(serial.begin(), serial.end(), 2.5);
  require_same(a, "fill");
  pgas::iota(a, 3.0);
  std::iota(serial.begin(), serial.end(), 3.0);
  require_same(a, "iota");
  pgas::for_each(a, [](double& x) { x = x * x - 1; });
  std::for_each(serial.begin(), serial.end(), [](double& x) { x = x * x - 1; });
  require_same(a, "for_each");

  auto const b = make_array<int>(team, extents, rule.padded(24));  // the same owners, other places
  pgas::transform(a, b, [](double x) { return static_cast<int>(x) % 17 - 5; });
  std::vector<int> integers(serial.size());
  std::transform(serial.begin(), serial.end(), integers.begin(),
                 [](double x) { return static_cast<int>(x) % 17 - 5; });
  require(all_cells(b) == integers, "transform");
  require_equal(pgas::reduce(team, b, 4), std::reduce(integers.begin(), integers.end(), 4), "sum");
  auto const largest =
      integers.empty() ? -100 : std::max(-100, *std::max_element(integers.begin(), integers.end()));
  require_equal(pgas::reduce(team, b, -100, pgas::op::max{}), largest, "maximum");
  require_equal(pgas::reduce(team, b, 4, pgas::op::sum{}, pgas::reduction_order::by_row),
                std::reduce(integers.begin(), integers.end(), 4), "sum by row");

  auto const number = pgas::detail::dense_pitches(extents);
  pgas::for_each_index(a,
                       [&](auto const& i, double& x) { x = value_of(pgas::detail::element_at(i, number)); });
  for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = value_of(k);
  require_same(a, "for_each_index");
  return pgas::reduce(team, a, 0.25, pgas::op::sum{}, pgas::reduction_order::by_row);
}

/// The sum on one rank that reduce promises to give, added by rows.
template <std::size_t N>
double sum_by_rows(cell_index<N> const& extents) {
  double sum = 0.25;
  std::size_t const all = box<N>{{}, extents}.size();
  for (std::size_t k = 0; k < all; k += extents[N - 1]) {
    double row = value_of(k);
    for (std::size_t i = 1; i < extents[N - 1]; ++i) row += value_of(k + i);
    sum += row;
  }
  return sum;
}

template <std::size_t N, class Team, class... Rules>
void check_layouts(Team& team, cell_index<N> const& extents, Rules const&... rules) {
  double const expected = sum_by_rows(extents);
  for (double const sum : {check<N>(team, extents, rules)...}) {
    require(std::memcmp(&sum, &expected, sizeof(sum)) == 0,
            "a sum by rows has the same bits on every layout");
  }
}

}  // namespace

TEST_CASE("algorithm: the results on every layout equal those of the standard's algorithms on one rank") {
  everywhere<few_models>([](auto& team) {
    using namespace pgas;
    for (std::size_t extent : {0U, 1U, 5U, 43U}) {
      check_layouts<1>(team, {extent}, by_rows<1>{}, tiled{block_cyclic<4>{}},
                       tiled{single_owner{team.size() - 1}});
    }
    for (auto const& extents : {cell_index<2>{1, 1}, {0, 3}, {7, 9}, {12, 2}}) {
      check_layouts<2>(team, extents, tiled{block{}, block_cyclic<2>{}}.padded(64), cyclic_tiles<3, 2>{});
    }
    check_layouts<3>(team, {4, 5, 6}, by_rows<3>{});
  });
}

TEST_CASE("algorithm: transform refuses arrays whose cells have different owners, and names both layouts") {
  everywhere<few_models>(
      [](auto& team) {
        auto const rows = make_array<int>(team, {4, 4});
        auto const tiles = make_array<int>(team, {4, 4}, pgas::cyclic_tiles<1, 1>{});
        auto const other = make_array<int>(team, {5, 4});
        require_error(errc::invalid_argument,
                      {"transform", "4 x 4, tiled(block, whole)", "cyclic_tiles(1 x 1)", "not aligned"},
                      [&] { pgas::transform(rows, tiles, [](int x) { return x; }); });
        require_error(errc::invalid_argument, {"transform", "5 x 4", "not aligned"},
                      [&] { pgas::transform(other, rows, [](int x) { return x; }); });
        team.barrier();
      },
      {2, 3});
}
