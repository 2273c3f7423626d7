// SPDX-License-Identifier: BSL-1.0
// Scans, sorted arrays and histograms equal those of the standard's algorithms on one rank, on every
// one-dimensional layout.
// test: unit algorithm
#include <algorithm>
#include <numeric>
#include <pgas/algorithm/histogram.hpp>
#include <pgas/algorithm/scan.hpp>
#include <pgas/algorithm/sort.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <vector>

#include "support/dealt_table.hpp"
#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

constexpr std::initializer_list<rank_t> one_to_five{1, 2, 3, 4, 5};

/// Blocks of 1, 2, 3, 1, ... indices, not assigned in turn: no distribution of the library resembles it.
class uneven {
 public:
  static constexpr bool one_block = false;

  uneven() = default;
  [[nodiscard]] uneven over(std::size_t extent, rank_t ranks) const {
    uneven other;
    other.extent_ = extent;
    other.ranks_ = ranks;
    std::vector<std::pair<std::size_t, rank_t>> blocks;
    for (std::size_t i = 0, k = 0; i < extent; i += blocks[k++].first) {
      blocks.emplace_back(std::min(1 + k % 3, extent - i), ranks - 1 - static_cast<rank_t>(k * k) % ranks);
    }
    other.table_ = table(blocks, ranks);
    return other;
  }
  [[nodiscard]] std::string describe() const { return "uneven"; }
  [[nodiscard]] std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] rank_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] rank_t owner(std::size_t i) const noexcept { return table_.entries()[i].owner; }
  [[nodiscard]] std::size_t local_size(rank_t rank) const noexcept { return table_.size(rank); }
  [[nodiscard]] std::size_t local_index(std::size_t i) const noexcept { return table_.entries()[i].local; }
  [[nodiscard]] std::size_t local_block(std::size_t i) const noexcept {
    return table_.entries()[i].local_block;
  }
  [[nodiscard]] std::size_t phase(std::size_t i) const noexcept { return table_.entries()[i].phase; }
  [[nodiscard]] std::size_t global_index(rank_t rank, std::size_t local) const noexcept {
    std::size_t i = 0;
    while (owner(i) != rank || local_index(i) != local) ++i;
    return i;
  }
  [[nodiscard]] std::size_t blocks(rank_t rank) const noexcept { return table_.courses(rank); }
  [[nodiscard]] index_range block_of(rank_t rank, std::size_t k) const noexcept {
    std::size_t first = 0;
    while (owner(first) != rank || local_block(first) != k) ++first;
    std::size_t end = first;
    while (end < extent_ && owner(end) == rank && local_block(end) == k) ++end;
    return {first, end - first};
  }
  friend bool operator==(uneven const& a, uneven const& b) {
    return a.extent_ == b.extent_ && a.ranks_ == b.ranks_;
  }

 private:
  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
  table table_{{}, 1};
};
static_assert(distribution<uneven>);

/// The maps x -> a x + b do not commute, so a scan in another order gives another result.
struct affine {
  std::uint32_t a = 1;
  std::uint32_t b = 0;

  friend affine operator+(affine const& x, affine const& y) { return {x.a * y.a, x.b * y.a + y.b}; }
  friend bool operator==(affine const&, affine const&) = default;
};

/// Requires that the own cells equal those of the serial array.
template <class Array, class T>
void require_cells(Array const& a, std::vector<T> const& serial, std::string const& what) {
  for_each_index(a, [&](auto const& i, T& cell) {
    require(cell == serial[i[0]], what + ": cell " + std::to_string(i[0]) + " of " +
                                      std::to_string(serial.size()) + ", " + a.layout().describe());
  });
}

template <class Team, class Rule>
void check_scans(Team& team, std::uint64_t seed, std::size_t extent, Rule const& rule) {
  random_source same(seed);
  std::vector<affine> cells(extent);
  for (auto& c : cells) c = {static_cast<std::uint32_t>(same()) | 1U, static_cast<std::uint32_t>(same())};
  auto const in = make_array<affine>(team, extent, rule);
  auto const out = make_array<affine>(team, extent, rule);
  for_each_index(in, [&](auto const& i, affine& c) { c = cells[i[0]]; });
  std::vector<affine> expected(extent);
  std::exclusive_scan(cells.begin(), cells.end(), expected.begin(), affine{3, 4}, op::sum{});
  exclusive_scan(team, in, out, affine{3, 4});
  require_cells(out, expected, "exclusive_scan");
  require_cells(in, cells, "source of exclusive_scan");
  std::inclusive_scan(cells.begin(), cells.end(), expected.begin(), op::sum{});
  inclusive_scan(team, in, in);
  require_cells(in, expected, "inclusive_scan in place");
  exclusive_scan(team, in, in, affine{5, 6});
  std::exclusive_scan(expected.begin(), expected.end(), expected.begin(), affine{5, 6}, op::sum{});
  require_cells(in, expected, "exclusive_scan in place");
}

/// One block size per rank; some are 0.
template <class Team>
tiled<irregular> some_irregular(Team& team, random_source& same, std::size_t extent) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(team.size()));
  for (std::size_t rest = extent; rest > 0;) {
    std::size_t const some = 1 + same.below(rest);
    sizes[same.below(sizes.size())] += some;
    rest -= some;
  }
  return irregular(sizes);
}

template <class Team, class Rule>
void check_sort(Team& team, std::uint64_t seed, std::size_t extent, Rule const& rule) {
  random_source same(seed);
  auto const a = make_array<std::uint32_t>(team, extent, rule);
  auto const require_sorted = [&](std::string const& what,
                                  std::function<std::uint32_t(std::size_t)> const& value) {
    std::vector<std::uint32_t> cells(extent);
    for (std::size_t i = 0; i < extent; ++i) cells[i] = value(i);
    for_each_index(a, [&](auto const& i, std::uint32_t& c) { c = cells[i[0]]; });
    std::sort(cells.begin(), cells.end());
    sort(team, a);
    require_cells(a, cells, what);
  };
  require_sorted("random cells", [&](std::size_t) { return static_cast<std::uint32_t>(same()); });
  require_sorted("few values", [&](std::size_t) { return static_cast<std::uint32_t>(same.below(3)); });
  require_sorted("equal cells", [](std::size_t) { return 9U; });
  require_sorted("descending cells", [&](std::size_t i) { return static_cast<std::uint32_t>(extent - i); });
}

}  // namespace

TEST_CASE("scan: a sum that does not commute equals the standard's, on every layout and in place") {
  everywhere<few_models>(
      [](auto& team) {
        random_source same(5);
        for (std::size_t extent : {0U, 1U, 3U, 47U}) {
          check_scans(team, same(), extent, some_irregular(team, same, extent));
          for (std::size_t block_size : {1U, 3U})
            check_scans(team, same(), extent, tiled{block_cyclic<>{block_size}});
          check_scans(team, same(), extent, tiled{uneven{}});
        }
        // Ranks beyond the grid own nothing.
        check_scans(team, same(), 20, tiled{block_cyclic<>{3}}.on(grid<1>{(team.size() + 1) / 2}));
      },
      one_to_five);
}

TEST_CASE("scan: arrays whose cells have different owners are refused on every rank") {
  everywhere<few_models>(
      [](auto& team) {
        auto const blocks = make_array<int>(team, 6, tiled{block_cyclic<>{3}});
        auto const other = make_array<int>(team, 6, tiled{block_cyclic<>{2}});
        auto const longer = make_array<int>(team, 7, tiled{block_cyclic<>{3}});
        std::string const self = "rank " + std::to_string(team.rank());
        require_error(
            errc::invalid_argument,
            {self, "inclusive_scan", "of 6, tiled(block_cyclic(3))", "of 6, tiled(block_cyclic(2))"},
            [&] { inclusive_scan(team, blocks, other); });
        require_error(errc::invalid_argument, {self, "exclusive_scan", "of 6", "of 7"},
                      [&] { exclusive_scan(team, blocks, longer, 0); });
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("sort: an array of any layout equals the result of the standard's sort") {
  everywhere<few_models>(
      [](auto& team) {
        random_source same(6);
        for (std::size_t extent : {0U, 1U, 3U, 60U, 211U}) {
          check_sort(team, same(), extent, some_irregular(team, same, extent));
          check_sort(team, same(), extent, tiled{block_cyclic<>{1 + extent % 3}});
        }
      },
      one_to_five);
}

TEST_CASE("sort: no bucket holds more than about twice its equal share, for any values") {
  random_source rng(7);
  std::less<> less;
  for (std::size_t round = 0; round < 200; ++round) {
    std::size_t const ranks = 1 + rng.below(9);
    std::uint64_t const values = rng.one_in(3) ? 1 + rng.below(3) : ~std::uint64_t{0};
    std::vector<std::vector<std::uint64_t>> runs(ranks);
    std::size_t all = 0;
    for (auto& run : runs) {
      run.resize(rng.one_in(4) ? 0 : rng.below(600));
      for (auto& value : run) value = rng() % values;
      std::sort(run.begin(), run.end());
      all += run.size();
    }
    if (all == 0) continue;
    std::vector<pgas::detail::sort_sample<std::uint64_t>> samples;
    std::size_t const distance = pgas::detail::sample_distance(all, ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      auto const mine = pgas::detail::samples_of<std::uint64_t>(runs[r], r, distance);
      samples.insert(samples.end(), mine.begin(), mine.end());
    }
    CHECK(samples.size() <= ranks * ranks);
    auto const splitters = pgas::detail::splitters_of(samples, ranks, less);
    std::vector<std::uint64_t> sizes(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      auto const cuts = pgas::detail::cuts_of<std::uint64_t>(runs[r], r, splitters, less);
      REQUIRE(std::is_sorted(cuts.begin(), cuts.end()));
      for (std::size_t b = 0; b < ranks; ++b) sizes[b] += cuts[b + 1] - cuts[b];
    }
    for (std::uint64_t size : sizes) CHECK(size <= all / ranks + (ranks + 2) * distance);
  }
}

TEST_CASE("sort: whole cells are sorted by any order") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<affine>(team, 50, tiled{block_cyclic<>{3}});
        for_each_index(a, [](auto const& i, affine& c) {
          auto const k = static_cast<std::uint32_t>(i[0]);
          c = {k * 7 % 50, k};
        });
        sort(team, a, [](affine const& x, affine const& y) { return x.a > y.a; });
        for_each_index(a, [](auto const& i, affine const& c) {
          require_equal(c.a, 49 - static_cast<std::uint32_t>(i[0]), "order of cells");
          require_equal(c.b * 7 % 50, c.a, "a cell stays whole");
        });
      },
      {1, 3});
}

TEST_CASE("histogram: cells are counted between given edges and by a given function") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {5, 9});
        auto const counts = make_array<std::uint32_t>(team, 4, tiled{block_cyclic<>{3}});
        iota(a, -3);  // -3 to 41
        fill(counts, 77);
        histogram(a, std::vector<int>{0, 1, 10, 10, 60}, counts);
        require_cells(counts, std::vector<std::uint32_t>{1, 9, 0, 32}, "between edges");
        histogram(a, std::vector<int>{-9, -8, -7, -3, 41}, counts);
        require_cells(counts, std::vector<std::uint32_t>{0, 0, 0, 44}, "a bucket has its lower edge only");
        histogram(
            a, [](int x) { return static_cast<std::size_t>(x + 3) / 10; }, counts);
        require_cells(counts, std::vector<std::uint32_t>{10, 10, 10, 10}, "by a function");
        auto const none = make_array<int>(team, 0);
        histogram(none, std::vector<int>{0, 1, 2, 3, 4}, counts);
        require_cells(counts, std::vector<std::uint32_t>{0, 0, 0, 0}, "of no cells");
      },
      one_to_five);
}

TEST_CASE("histogram: unusable edges are refused, with their numbers") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, 5);
        auto const counts = make_array<int>(team, 2);
        std::string const self = "rank " + std::to_string(team.rank());
        require_error(errc::invalid_argument, {self, "histogram", "2 edges given for 2 counts"}, [&] {
          histogram(a, std::vector<int>{0, 1}, counts);
        });
        require_error(errc::invalid_argument, {self, "histogram", "3 edges do not ascend"}, [&] {
          histogram(a, std::vector<int>{0, 2, 1}, counts);
        });
        team.barrier();
      },
      {1, 2});
}
