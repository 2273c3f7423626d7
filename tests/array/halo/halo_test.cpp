// SPDX-License-Identifier: BSL-1.0
// Ghost cells equal those of a padded serial array, on every model: any width, fixed and periodic edges, any
// number of ranks.
// test: addresses, threads in full, unit halo
#include <map>
#include <optional>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/notified_halo.hpp>
#include <thread>
#include <tuple>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::begin_exchange;
using pgas::edge;
using pgas::exchange_halo;
using pgas::halo;
using pgas::make_array;
using pgas::stage;

namespace {

using index_t = std::ptrdiff_t;

index_t wrapped(index_t i, index_t extent) { return ((i % extent) + extent) % extent; }

/// The value of a cell within the array in a round, and that of a cell beyond a fixed edge.
int inside(index_t i, index_t j, int round) { return static_cast<int>(i * 100 + j) + round * 100'000; }
int beyond(index_t i, index_t j) { return -1 - static_cast<int>((i + 50) * 100 + j + 50); }

/// The value due at signed global indices after an exchange.
template <class Array>
int expected(Array const& a, index_t i, index_t j, int round) {
  constexpr std::size_t last = Array::dimensions - 1;
  auto const rows = static_cast<index_t>(a.extent(0));
  auto const cols = last == 0 ? index_t{1} : static_cast<index_t>(a.extent(last));
  bool const row_beyond = i < 0 || i >= rows;
  bool const col_beyond = j < 0 || j >= cols;
  if (row_beyond && a.shape().halo(0).edges == edge::periodic) i = wrapped(i, rows);
  if (col_beyond && a.shape().halo(last).edges == edge::periodic) j = wrapped(j, cols);
  bool const outside = (row_beyond && a.shape().halo(0).edges == edge::fixed) ||
                       (col_beyond && a.shape().halo(last).edges == edge::fixed);
  return outside ? beyond(i, j) : inside(i, j, round);
}

template <class Array>
void store_own(Array const& a, int round) {
  auto const cells = stage(a, pgas::write_only);
  for (std::size_t i = 0; i < a.local_rows(); ++i) {
    auto const row = static_cast<index_t>(a.first_row() + i);
    if constexpr (Array::dimensions == 1) {
      cells(i) = inside(row, 0, round);
    } else {
      for (std::size_t j = 0; j < a.extent(1); ++j) cells(i, j) = inside(row, static_cast<index_t>(j), round);
    }
  }
}

template <class Array>
void check_all(Array const& a, int round) {
  if (a.local_rows() == 0) return;
  auto const cells = stage(a, pgas::read_only);
  auto const require_cell = [&](int seen, index_t i, index_t j) {
    if (seen != expected(a, i, j, round)) {
      require_equal(seen, expected(a, i, j, round),
                    "cell (" + std::to_string(i) + ", " + std::to_string(j) + ") on rank " +
                        std::to_string(a.rank()) + " of an array of " +
                        pgas::detail::joined(a.extents(), " x ") + ", round " + std::to_string(round));
    }
  };
  auto const width = static_cast<index_t>(a.shape().halo(0).width);
  auto const first = static_cast<index_t>(a.first_row());
  auto const after = static_cast<index_t>(a.shape().halo(0).after);
  for (index_t i = -width; i < static_cast<index_t>(a.local_rows()) + after; ++i) {
    if constexpr (Array::dimensions == 1) {
      require_cell(cells(i), first + i, 0);
    } else {
      auto const side = static_cast<index_t>(a.shape().halo(1).width);
      for (index_t j = -side; j < static_cast<index_t>(a.extent(1)) + side; ++j)
        require_cell(cells(i, j), first + i, j);
    }
  }
}

template <class Array>
void set_all_edges(Array const& a) {
  if constexpr (Array::dimensions == 1) {
    pgas::set_edges(a, [](index_t i) { return beyond(i, 0); });
  } else {
    pgas::set_edges(a, [&a](index_t i, index_t j) {
      // Along a periodic dimension, the cells beyond the other dimension's edge repeat too.
      if (a.shape().halo(0).edges == edge::periodic) i = wrapped(i, static_cast<index_t>(a.extent(0)));
      if (a.shape().halo(1).edges == edge::periodic) j = wrapped(j, static_cast<index_t>(a.extent(1)));
      return beyond(i, j);
    });
  }
}

/// Exchanges two arrays in turn, as stencils do; `between` runs while an exchange is pending.
template <class Array, class Between>
void exchange_some_rounds(Array a, Array b, Between&& between) {
  set_all_edges(a);
  set_all_edges(b);
  for (int round = 0; round < 4; ++round) {
    store_own(a, round);
    auto pending = begin_exchange(a);
    between(a, b);
    pending.finish();
    check_all(a, round);
    std::swap(a, b);
  }
}

}  // namespace

namespace {

/// The index whose value is seen at a place within or beyond an array.
index_t image_of(index_t i, index_t extent, edge edges) {
  if (edges != edge::reflecting) return wrapped(i, extent);
  index_t const in_both = wrapped(i, 2 * extent);
  return in_both < extent ? in_both : 2 * extent - 1 - in_both;
}

/// Requires that each ghost index arrives once, from the owner of its value, and that senders and receivers
/// agree.
template <pgas::contiguous_distribution D>
void check_line(D const& indices, halo const& h) {
  auto const extent = static_cast<index_t>(indices.extent());
  std::map<std::pair<rank_t, index_t>, index_t>
      arrives;  // target, place counted from its first -> global index
  std::vector<pgas::halo_line> lines;
  for (rank_t r = 0; r < indices.ranks(); ++r) {
    auto const& line = lines.emplace_back(indices, h, r);
    for (auto const& run : line.sends()) {
      for (index_t k = 0; k < static_cast<index_t>(run.count); ++k) {
        CHECK(run.from + k >= 0);
        CHECK(run.from + k < static_cast<index_t>(indices.local_size(r)));
        auto const index = static_cast<index_t>(indices.first(r)) + run.from + k;
        CHECK(arrives.emplace(std::pair{run.target, run.to + k}, index).second);
      }
    }
  }
  std::size_t ghosts = 0;
  for (rank_t r = 0; r < indices.ranks(); ++r) {
    auto const own = static_cast<index_t>(indices.local_size(r));
    for (index_t i = -static_cast<index_t>(h.width); own != 0 && i < own + static_cast<index_t>(h.after);
         ++i) {
      auto const global = static_cast<index_t>(indices.first(r)) + i;
      bool const is_own = i >= 0 && i < own;
      bool const is_beyond = global < 0 || global >= extent;
      if (is_own || (is_beyond && h.edges == edge::fixed)) continue;
      ++ghosts;
      auto const from = arrives.find({r, i});
      REQUIRE(from != arrives.end());
      CHECK(from->second == image_of(global, extent, h.edges));
    }
    for (rank_t other = 0; other < indices.ranks(); ++other) {
      auto const& sends = lines[static_cast<std::size_t>(r)].sends();
      auto const& origins = lines[static_cast<std::size_t>(other)].origins();
      bool const puts =
          std::any_of(sends.begin(), sends.end(), [&](auto const& run) { return run.target == other; });
      CHECK(std::count(origins.begin(), origins.end(), r) == (puts ? 1 : 0));
    }
  }
  CHECK(arrives.size() == ghosts);
}

}  // namespace

TEST_CASE("halo_line: every ghost index comes once from its owner, and senders and receivers agree" *
          doctest::test_suite("serial")) {
  for (edge edges : {edge::fixed, edge::periodic, edge::reflecting}) {
    for (std::size_t width = 0; width <= 10; ++width) {
      for (std::size_t after : {width, (width + 3) % 11}) {
        halo const h{width, edges, after};
        CAPTURE(width);
        CAPTURE(after);
        CAPTURE(static_cast<int>(edges));
        for (std::size_t extent = 0; extent <= 8; ++extent) {
          CAPTURE(extent);
          for (rank_t ranks = 1; ranks <= 9; ++ranks) {
            CAPTURE(ranks);
            check_line(pgas::block(extent, ranks), h);
          }
          check_line(pgas::single_owner{2}.over(extent, 4), h);
        }
        for (std::size_t code = 0; code < 64; ++code) {
          CAPTURE(code);
          check_line(pgas::irregular{code % 4, code / 4 % 4, code / 16}, h);
        }
      }
    }
  }
}

TEST_CASE("halo_plan: a rank in the middle has the same number of neighbours with any number of ranks") {
  auto const targets = [](auto const& rule, auto const& extents, auto const& around, rank_t ranks,
                          rank_t self) {
    constexpr std::size_t N = std::remove_cvref_t<decltype(rule)>::dimensions;
    pgas::array_shape<N, std::remove_cvref_t<decltype(rule)>> const shape(extents, around, ranks, rule);
    pgas::halo_plan<N> const plan(shape, self);
    CHECK(plan.origins() == plan.targets());
    CHECK(plan.puts().size() == plan.targets().size());
    return plan.targets();
  };
  halo const h{.width = 3, .edges = edge::periodic};
  using ranks = std::vector<rank_t>;
  CHECK(targets(pgas::by_rows<1>{}, std::array<std::size_t, 1>{1'000'000}, pgas::halos<1>(h), 1000, 500) ==
        ranks{499, 501});
  CHECK(targets(pgas::by_rows<1>{}, std::array<std::size_t, 1>{1'000'000}, pgas::halos<1>(h), 1000, 0) ==
        ranks{1, 999});
  using plane = pgas::tiled<pgas::block, pgas::block>;
  std::array<std::size_t, 2> const square{1000, 1000};
  CHECK(targets(plane{}, square, pgas::halos<2>(h), 1024, 33) == ranks{0, 1, 2, 32, 34, 64, 65, 66});
  CHECK(targets(plane{}, square, pgas::halos<2>(h).without_corners(), 1024, 33) == ranks{1, 32, 34, 65});
  using volume = pgas::tiled<pgas::block, pgas::block, pgas::block>;
  CHECK(targets(volume{}, std::array<std::size_t, 3>{90, 90, 90}, pgas::halos<3>(h), 729, 91).size() == 26);
}

TEST_CASE(
    "halo: ghost cells in one dimension are right at any width, also wider than blocks and than the array") {
  everywhere([](auto& team) {
    for (std::size_t extent : {0U, 1U, 2U, 5U, 9U}) {
      for (std::size_t width : {1U, 2U, 3U, 4U, 11U}) {
        for (edge edges : {edge::fixed, edge::periodic}) {
          halo const h{width, edges};
          exchange_some_rounds(make_array<int>(team, extent, h), make_array<int>(team, extent, h),
                               [](auto&&...) {});
        }
      }
    }
  });
}

TEST_CASE(
    "halo: ghost cells in two dimensions with corners are right, each dimension fixed or periodic, at any "
    "width") {
  everywhere([](auto& team) {
    for (auto const& [rows, cols] : {std::pair{1U, 1U}, {3U, 2U}, {4U, 7U}, {13U, 5U}}) {
      for (std::size_t width : {1U, 2U, 3U, 4U}) {
        for (int edges = 0; edges < 4; ++edges) {
          halo const across{width, edges % 2 == 0 ? edge::fixed : edge::periodic};
          halo const along{5 - width, edges / 2 == 0 ? edge::fixed : edge::periodic};
          exchange_some_rounds(make_array<int>(team, {rows, cols}, {across, along}),
                               make_array<int>(team, {rows, cols}, {across, along}), [](auto&&...) {});
        }
      }
    }
  });
}

TEST_CASE("halo: while an exchange is pending, own cells can be read and another array can be written") {
  everywhere([](auto& team) {
    random_source rng(static_cast<std::uint64_t>(team.rank()));
    halo const h{.width = 2, .edges = edge::periodic};
    for (int again = 0; again < 5; ++again) {
      exchange_some_rounds(
          make_array<int>(team, {11, 3}, h), make_array<int>(team, {11, 3}, h), [&](auto& a, auto& b) {
            dawdle(rng);
            auto const in = stage(a, pgas::read_own);
            auto const out = stage(b, pgas::write_only);
            for (std::size_t i = 0; i < a.local_rows(); ++i) {
              for (std::size_t j = 0; j < 3; ++j) {
                require_equal(in(i, j) % 100'000,
                              inside(static_cast<index_t>(a.first_row() + i), static_cast<index_t>(j), 0),
                              "own cell while the exchange is pending");
                out(i, j) = in(i, j);
              }
            }
            dawdle(rng);
          });
    }
  });
}

TEST_CASE("halo: in repeated exchanges no rank puts before the last ghost cells have been read") {
  everywhere([](auto& team) {
    random_source rng(3 * static_cast<std::uint64_t>(team.rank()));
    auto const a = make_array<int>(team, {8, 40}, halo{.width = 1, .edges = edge::periodic});
    for (int round = 0; round < 20; ++round) {
      store_own(a, round);
      exchange_halo(a);
      dawdle(rng);
      check_all(a, round);
    }
  });
}

TEST_CASE("halo: an exchange ends with the life of its guard, and the guard may be moved") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 9, halo{.width = 2, .edges = edge::periodic});
    store_own(a, 1);
    {
      auto first = begin_exchange(a);
      auto second = std::move(first);
    }
    check_all(a, 1);
  });
}

TEST_CASE("halo: a second exchange of an array before the first has ended is an error") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 14, halo{.width = 1, .edges = edge::periodic});
    auto pending = begin_exchange(a);
    require_error(errc::wrong_order, {"begin_exchange", "rank " + std::to_string(team.rank())},
                  [&] { static_cast<void>(begin_exchange(a)); });
    pending.finish();
    require_error(errc::wrong_order, {"close"}, [&] { pending.finish(); });
    exchange_halo(a);
  });
}

TEST_CASE("halo: an exchange of an array without ghost cells is an error that says so") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 14);
    auto const b = make_array<int>(team, 14, halo{.width = 1});
    std::string const self = "rank " + std::to_string(team.rank());
    require_error(errc::invalid_argument, {self, "begin_exchange", "no ghost cells", "make it with a halo"},
                  [&] { exchange_halo(a); });
    exchange_halo(b);
  });
}

TEST_CASE("halo: ranks without a common edge do not wait for each other") {
  everywhere(
      [](auto& team) {
        auto const a = make_array<int>(team, 70, halo{.width = 1});
        auto const go = pgas::make_window<int>(team, 1);
        // Rank 0 exchanges only after the last rank, which is not its neighbour.
        if (team.rank() == 0) {
          pgas::lock_all epoch{go};
          while (epoch.atomic_load(0, 0) == 0) std::this_thread::yield();
        }
        if (team.rank() >= 2 || team.rank() == 0) exchange_halo(a);
        if (team.rank() == team.size() - 1) {
          pgas::lock_all epoch{go};
          epoch.atomic_store(0, 0, 1);
        }
        if (team.rank() == 1) exchange_halo(a);
      },
      {7});
}

TEST_CASE("notified halo: two arrays that are swapped have right ghost cells, and no cell is put too early") {
  everywhere([](auto& team) {
    random_source rng(5 * static_cast<std::uint64_t>(team.rank()));
    for (edge edges : {edge::fixed, edge::periodic}) {
      for (std::size_t after : {0U, 2U}) {  // 0: cells go in one direction
        halo const h{.width = 2, .edges = edges, .after = after};
        auto a = make_array<int>(team, {8, 20}, {h, halo{.width = 1, .edges = edges}});
        auto b = make_array<int>(team, {8, 20}, {h, halo{.width = 1, .edges = edges}});
        auto halos = pgas::make_notified_halo(a);
        set_all_edges(a);
        set_all_edges(b);
        for (int round = 0; round < 8; ++round) {
          store_own(a, round);
          halos.exchange(a);
          dawdle(rng);
          check_all(a, round);
          std::swap(a, b);
        }
      }
    }
  });
}

TEST_CASE(
    "notified halo: a rank begins without waiting for its neighbours, and finishes when they have begun") {
  everywhere(
      [](auto& team) {
        auto const a = make_array<int>(team, {8, 5}, halo{.width = 1});
        auto const go = pgas::make_window<int>(team, 1);
        auto halos = pgas::make_notified_halo(a);
        set_all_edges(a);
        store_own(a, 1);
        auto const begun = [&](rank_t rank) {
          pgas::lock_all epoch{go};
          while (epoch.atomic_load(rank, 0) == 0) std::this_thread::yield();
        };
        if (team.rank() > 0) begun(team.rank() - 1);
        auto first = halos.begin_exchange(a);
        {
          pgas::lock_all epoch{go};
          epoch.atomic_store(team.rank(), 0, 1);
        }
        { auto second = std::move(first); }  // finishes
        check_all(a, 1);
      },
      {1, 2, 4});
}

TEST_CASE("notified halo: wrong uses are errors that say what to do") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 14, halo{.width = 1, .edges = edge::periodic});
    auto const longer = make_array<int>(team, 15, halo{.width = 1, .edges = edge::periodic});
    auto const without = make_array<int>(team, 14);
    auto halos = pgas::make_notified_halo(a);
    std::string const self = "rank " + std::to_string(team.rank());
    auto pending = halos.begin_exchange(a);
    require_error(errc::wrong_order, {self, "begin_exchange", "finish it first"},
                  [&] { static_cast<void>(halos.begin_exchange(a)); });
    pending.finish();
    require_error(errc::wrong_order, {self, "finish", "begin another"}, [&] { pending.finish(); });
    require_error(errc::invalid_argument, {self, "begin_exchange", "another shape"},
                  [&] { halos.exchange(longer); });
    require_error(errc::invalid_argument, {self, "no ghost cells"},
                  [&] { static_cast<void>(pgas::make_notified_halo(without)); });
    halos.exchange(a);
  });
}

#if !defined(PGAS_TEST_ONE_BACKEND)
TEST_CASE("halo: on the emulated chip an exchange costs one drop, and a push for each line that it puts") {
  pgas::scc::with_options const calm(pgas::scc::options{});
  pgas::run<pgas::backends::scc>(3, [](auto& team) {
    auto const a = pgas::make_array<double>(team, {9, 62}, pgas::halo{.width = 1});
    pgas::exchange_halo(a);  // the first exchange also makes its plan
    auto const before = a.window().state().segment.counters();
    pgas::exchange_halo(a);
    auto const after = a.window().state().segment.counters();
    std::size_t lines = 0;
    for (auto const& put : a.plan().puts()) {
      std::size_t const first = put.to * sizeof(double);
      std::size_t const bytes = put.count[0] * a.shape().pitch() * sizeof(double);
      lines += (first + bytes - 1) / 32 - first / 32 + 1;
    }
    // write_only removes the drop at the start; the drop at the wait remains.
    require_equal(after.tagged_drops - before.tagged_drops, std::uint64_t{1}, "drops");
    require_equal(after.pushes - before.pushes, std::uint64_t{lines}, "pushes");
    require_equal(after.write_backs - before.write_backs, std::uint64_t{0}, "write-backs");
  });
}
#endif
