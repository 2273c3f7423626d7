// SPDX-License-Identifier: BSL-1.0
// Growth, counted on simulated ranks: how operations and bytes grow with ranks, windows and dimensions. Each
// exponent is that of the line through the logarithms, by least squares, and each test prints it.
#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pgas/backends/simulated.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/fence.hpp>
#include <pgas/global_array.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/pgas.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/ranks.hpp"

namespace {

using pgas::rank_t;
using simulated = pgas::backends::simulated;

struct point {
  double at;     ///< ranks, windows, or another size
  double value;  ///< operations or bytes
};

/// The power of the size with which the values grow.
double exponent(std::vector<point> const& points) {
  double x = 0;
  double y = 0;
  for (auto const& p : points) x += std::log(p.at), y += std::log(p.value);
  auto const n = static_cast<double>(points.size());
  x /= n, y /= n;
  double over = 0;
  double under = 0;
  for (auto const& p : points) {
    over += (std::log(p.at) - x) * (std::log(p.value) - y);
    under += (std::log(p.at) - x) * (std::log(p.at) - x);
  }
  return over / under;
}

/// Prints the values with their exponent, which it returns.
double told(std::string const& what, std::vector<point> const& points) {
  std::printf("%s:", what.c_str());
  for (auto const& p : points) std::printf(" %g at %g,", p.value, p.at);
  double const found = exponent(points);
  std::printf(" exponent %.2f\n", found);
  return found;
}

/// The operations of one rank, to all ranks and to itself.
template <class Team>
std::uint64_t operations(Team const& team) {
  std::uint64_t all = 0;
  for (auto const& to : pgas::simulated::counters_of(team).to) all += to.all();
  return all;
}

/// The control words of one rank in bytes.
template <class Team>
double control(Team const& team) {
  return static_cast<double>(pgas::simulated::counters_of(team).now.control);
}

/// The bytes of the heap that are in use, of all ranks: they are fibers of one process.
double heap() {
  auto const info = ::mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

constexpr std::array<rank_t, 6> all_ranks{2, 4, 8, 16, 32, 64};

/// Operations of the busiest rank in one step, for each number of ranks. `prepared` makes the step.
template <class Prepared>
std::vector<point> by_ranks(Prepared const& prepared) {
  std::vector<point> points;
  for (rank_t const ranks : all_ranks) {
    std::uint64_t most = 0;
    pgas::run<simulated>(ranks, [&](auto& team) {
      prepared(team, [&](auto const& step) {
        step();  // the first one may make memory of links
        team.barrier();
        std::uint64_t const before = operations(team);
        step();
        most = std::max(most, operations(team) - before);
      });
    });
    points.push_back({static_cast<double>(ranks), static_cast<double>(most)});
  }
  return points;
}

}  // namespace

TEST_CASE("growth: a fence and a barrier take a rank operations as the logarithm of the ranks") {
  auto const barrier = [](auto& team, auto const& count) { count([&] { team.barrier(); }); };
  auto const fence = [](auto& team, auto const& count) {
    auto const w = pgas::make_window<std::uint64_t>(team, 8);
    pgas::fence epoch{w};
    count([&] { epoch.next(); });
  };
  // log2 of 2 to 64 is 1 to 6: an exponent of 0.49. A linear one would have 1.
  CHECK(told("barrier, operations by ranks", by_ranks(barrier)) < 0.7);
  CHECK(told("fence, operations by ranks", by_ranks(fence)) < 0.7);
}

TEST_CASE("growth: a free lock takes at most one operation more among 64 ranks than among two") {
  auto const lock = [](auto& team, auto const& count) {
    auto const w = pgas::make_window<std::uint64_t>(team, 8);
    if (team.rank() == 0) {
      for (int i = 0; i < 2; ++i) pgas::lock epoch{w, 1, pgas::exclusive};
    }
    team.barrier();
    count([&] {
      if (team.rank() == 0) pgas::lock epoch{w, 1, pgas::exclusive};
      team.barrier();
    });
  };
  auto const alone = [](auto& team, auto const& count) { count([&] { team.barrier(); }); };
  auto points = by_ranks(lock);
  auto const barriers = by_ranks(alone);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].value -= barriers[i].value;
  // From 32 ranks on there are several nodes, and the lock has one operation more.
  CHECK(told("a free lock, operations by ranks", points) < 0.2);
  CHECK(points.back().value <= 3);
}

TEST_CASE("growth: the exchange of a halo takes a rank as many operations among 64 ranks as among 16") {
  auto points = by_ranks([](auto& team, auto const& count) {
    auto const n = static_cast<std::size_t>(team.size());
    std::size_t rows_of_ranks = 1;
    while (rows_of_ranks * rows_of_ranks < n) rows_of_ranks *= 2;
    auto const a = pgas::make_array<double>(team, {8 * rows_of_ranks, 8 * (n / rows_of_ranks)},
                                            pgas::tiled<pgas::block, pgas::block>{}, pgas::halo{.width = 1});
    count([&] { pgas::exchange_halo(a); });
  });
  points.erase(points.begin(), points.begin() + 3);  // no rank has neighbours on all sides
  CHECK(told("exchange_halo, operations by ranks", points) < 0.1);
}

TEST_CASE("growth: each of 2,000 windows takes as many bytes and operations as the first ones") {
  constexpr std::size_t windows = 2000;
  std::vector<point> words;
  std::vector<point> bytes;
  std::vector<point> steps;
  pgas::run<simulated>(2, [&](auto& team) {
    using window = decltype(pgas::make_window<std::uint64_t>(team, 8));
    std::vector<window> all;
    all.reserve(windows);
    team.barrier();
    double const control_before = control(team);
    double const heap_before = heap();
    team.barrier();
    for (std::size_t const wanted : {20U, 200U, 2000U}) {
      while (all.size() + 1 < wanted) all.push_back(pgas::make_window<std::uint64_t>(team, 8));
      std::uint64_t const before = operations(team);
      all.push_back(pgas::make_window<std::uint64_t>(team, 8));
      std::uint64_t const taken = operations(team) - before;
      team.barrier();
      if (team.rank() == 0) {
        auto const n = static_cast<double>(wanted);
        words.push_back({n, control(team) - control_before});
        bytes.push_back({n, heap() - heap_before});
        steps.push_back({n, static_cast<double>(taken)});
      }
      team.barrier();
    }
  });
  CHECK(told("bytes of control words by windows", words) < 1.05);
  CHECK(told("bytes of the heap by windows", bytes) < 1.05);
  CHECK(std::abs(told("make_window, operations by windows", steps)) < 0.1);
}

TEST_CASE("growth: a box of any number of dimensions takes an operation for each of its rows") {
  // Boxes of 4 x ... x 4 cells in the middle of an array of edge 8: 4^(d-1) rows.
  std::vector<point> points;
  auto const count = [&]<std::size_t N>(std::array<std::size_t, N> const& edges) {
    pgas::run<simulated>(2, [&](auto& team) {
      auto const a = pgas::make_array<double>(team, edges);
      pgas::box<N> cells;
      cells.first.fill(2);
      cells.count.fill(4);
      cells.first[0] = 4;  // of the other rank
      std::size_t of_rows = 1;
      for (std::size_t d = 0; d + 1 < N; ++d) of_rows *= 4;
      if (team.rank() == 0) {
        std::vector<double> into(4 * of_rows);
        pgas::lock_all epoch{a, pgas::read_only};
        std::uint64_t const before = operations(team);
        epoch.get(cells, into);
        epoch.flush_local_all();
        points.push_back({static_cast<double>(of_rows), static_cast<double>(operations(team) - before)});
      }
      team.barrier();
    });
  };
  count(std::array<std::size_t, 1>{8});
  count(std::array<std::size_t, 2>{8, 8});
  count(std::array<std::size_t, 3>{8, 8, 8});
  count(std::array<std::size_t, 4>{8, 8, 8, 8});
  CHECK(told("get of a box, operations by rows", points) <= 1.001);
}

TEST_CASE("growth: a rank has bytes of a window and of an array as the logarithm of the ranks") {
  std::vector<point> window_words;
  std::vector<point> array_words;
  for (rank_t const ranks : all_ranks) {
    pgas::run<simulated>(ranks, [&](auto& team) {
      double const before = control(team);
      auto const w = pgas::make_window<std::uint64_t>(team, 8);
      double const between = control(team);
      auto const a =
          pgas::make_array<double>(team, {static_cast<std::size_t>(8 * team.size()), std::size_t{8}});
      double const after = control(team);
      if (team.rank() == 0) {
        window_words.push_back({static_cast<double>(ranks), between - before});
        array_words.push_back({static_cast<double>(ranks), after - between});
      }
      team.barrier();
    });
  }
  CHECK(told("a window, bytes of control words of a rank by ranks", window_words) < 0.2);
  CHECK(told("an array, bytes of control words of a rank by ranks", array_words) < 0.2);
}
