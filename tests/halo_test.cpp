// SPDX-License-Identifier: BSL-1.0
// Ghost cells hold what a padded serial array holds, on every model: any width, fixed and periodic, any number of
// ranks.
#include <map>
#include <optional>
#include <pgas/halo.hpp>
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

/// What a cell within the array holds in a round, and what one beyond a fixed edge does.
int inside(index_t i, index_t j, int round) { return static_cast<int>(i * 100 + j) + round * 100'000; }
int beyond(index_t i, index_t j) { return -1 - static_cast<int>((i + 50) * 100 + j + 50); }

/// What the cell at signed global indices must hold after an exchange.
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
  auto const cells = stage<pgas::write>(a);
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
  auto const cells = stage<pgas::read>(a);
  auto const require_cell = [&](int seen, index_t i, index_t j) {
    if (seen != expected(a, i, j, round)) {
      require_equal(seen, expected(a, i, j, round),
                    "cell (" + std::to_string(i) + ", " + std::to_string(j) + ") on rank " + std::to_string(a.rank()) +
                        " of an array of " + pgas::detail::joined(a.extents(), " x ") + ", round " +
                        std::to_string(round));
    }
  };
  auto const width = static_cast<index_t>(a.shape().halo(0).width);
  auto const first = static_cast<index_t>(a.first_row());
  for (index_t i = -width; i < static_cast<index_t>(a.local_rows()) + width; ++i) {
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
      // Along a periodic dimension the cells beyond the other's edge repeat, too.
      if (a.shape().halo(0).edges == edge::periodic) i = wrapped(i, static_cast<index_t>(a.extent(0)));
      if (a.shape().halo(1).edges == edge::periodic) j = wrapped(j, static_cast<index_t>(a.extent(1)));
      return beyond(i, j);
    });
  }
}

/// Two arrays in turn, as stencils use them; `between` runs while an exchange is pending.
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

TEST_CASE("halo_plan: every ghost row comes from its owner, once, and who sends and who waits agree") {
  for (std::size_t extent = 0; extent <= 8; ++extent) {
    for (rank_t ranks = 1; ranks <= 9; ++ranks) {
      pgas::block const rows(extent, ranks);
      for (std::size_t width = 0; width <= 10; ++width) {
        for (edge edges : {edge::fixed, edge::periodic}) {
          halo const h{width, edges};
          CAPTURE(extent);
          CAPTURE(ranks);
          CAPTURE(width);
          std::map<std::pair<rank_t, std::size_t>, std::size_t> arrives;  // target, row of its part -> global row
          std::vector<pgas::halo_plan> plans;
          for (rank_t r = 0; r < ranks; ++r) {
            auto const& plan = plans.emplace_back(rows, h, r);
            for (auto const* list : {&plan.puts(), &plan.copies()}) {
              for (auto const& run : *list) {
                CHECK((run.target == r) == (list == &plan.copies()));
                for (std::size_t k = 0; k < run.rows; ++k) {
                  std::size_t const row = rows.first(r) + run.from + k - width;
                  CHECK(run.from + k >= width);
                  CHECK(run.from + k < width + rows.local_size(r));
                  CHECK(arrives.emplace(std::pair{run.target, run.to + k}, row).second);
                }
              }
            }
          }
          std::size_t ghosts = 0;
          for (rank_t r = 0; r < ranks; ++r) {
            auto const own = rows.local_size(r);
            for (std::size_t i = 0; own != 0 && i < own + 2 * width; ++i) {
              auto const global = static_cast<index_t>(rows.first(r) + i) - static_cast<index_t>(width);
              bool const is_own = i >= width && i < width + own;
              bool const is_beyond = global < 0 || global >= static_cast<index_t>(extent);
              if (is_own || (is_beyond && edges == edge::fixed)) continue;
              ++ghosts;
              auto const from = arrives.find({r, i});
              REQUIRE(from != arrives.end());
              CHECK(static_cast<index_t>(from->second) == wrapped(global, static_cast<index_t>(extent)));
            }
            for (rank_t other = 0; other < ranks; ++other) {
              auto const names = [&](std::vector<rank_t> const& list, rank_t who) {
                return std::count(list.begin(), list.end(), who);
              };
              auto const sends = names(plans[static_cast<std::size_t>(r)].targets(), other);
              CHECK(sends == names(plans[static_cast<std::size_t>(other)].origins(), r));
              CHECK(sends <= (r == other ? 0 : 1));
            }
          }
          CHECK(arrives.size() == ghosts);
        }
      }
    }
  }
}

TEST_CASE("halo_plan: a rank in the middle has two neighbours, whatever the number of ranks") {
  pgas::halo_plan const plan(pgas::block(1'000'000, 1000), {.width = 3, .edges = edge::periodic}, 500);
  CHECK(plan.targets() == std::vector<rank_t>{499, 501});
  CHECK(plan.origins() == plan.targets());
  CHECK(plan.puts().size() == 2);
  pgas::halo_plan const corner(pgas::block(1'000'000, 1000), {.width = 3, .edges = edge::periodic}, 0);
  CHECK(corner.targets() == std::vector<rank_t>{1, 999});
}

TEST_CASE("halo: ghost cells of one dimension, any width, also wider than blocks and than the array") {
  everywhere([](auto& team) {
    for (std::size_t extent : {0U, 1U, 2U, 5U, 9U}) {
      for (std::size_t width : {1U, 2U, 3U, 4U, 11U}) {
        for (edge edges : {edge::fixed, edge::periodic}) {
          halo const h{width, edges};
          exchange_some_rounds(make_array<int>(team, extent, h), make_array<int>(team, extent, h), [](auto&&...) {});
        }
      }
    }
  });
}

TEST_CASE("halo: ghost cells of two dimensions with corners, each dimension fixed or periodic, any width") {
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

TEST_CASE("halo: while an exchange is pending own cells can be read, and another array stored to") {
  everywhere([](auto& team) {
    random_source rng(static_cast<std::uint64_t>(team.rank()));
    halo const h{.width = 2, .edges = edge::periodic};
    for (int again = 0; again < 5; ++again) {
      exchange_some_rounds(make_array<int>(team, {11, 3}, h), make_array<int>(team, {11, 3}, h), [&](auto& a, auto& b) {
        dawdle(rng);
        auto const in = stage<pgas::read>(a);
        auto const out = stage<pgas::write>(b);
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

TEST_CASE("halo: one array exchanged again and again: nobody puts before the last ghost cells have been read") {
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

TEST_CASE("halo: the exchange ends with its guard's life, and the guard may move") {
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

TEST_CASE("halo: a second exchange of an array before the first has finished is an error") {
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

TEST_CASE("halo: ranks without a common edge do not wait for each other") {
  everywhere(
      [](auto& team) {
        auto const a = make_array<int>(team, 70, halo{.width = 1});
        auto const go = pgas::make_window<int>(team, 1);
        // Rank 0 exchanges only when the last rank, which is no neighbour, has done so.
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

TEST_CASE("halo: on the emulated chip an exchange costs one drop, and a push for each line that it puts") {
  pgas::scc::with_options const calm(pgas::scc::options{});
  pgas::run<pgas::backends::scc>(3, [](auto& team) {
    auto const a = pgas::make_array<double>(team, {9, 62}, pgas::halo{.width = 1});
    pgas::exchange_halo(a);  // whatever the first one has to find out
    auto const before = a.window().state().segment.counters();
    pgas::exchange_halo(a);
    auto const after = a.window().state().segment.counters();
    std::size_t lines = 0;
    for (auto const& put : a.plan().puts()) {
      std::size_t const row_bytes = a.shape().pitch() * sizeof(double);
      std::size_t const first = put.to * row_bytes;
      lines += (first + put.rows * row_bytes - 1) / 32 - first / 32 + 1;
    }
    // write_only has erased the drop at start; what is left is the one at wait.
    require_equal(after.tagged_drops - before.tagged_drops, std::uint64_t{1}, "drops");
    require_equal(after.pushes - before.pushes, std::uint64_t{lines}, "pushes");
    require_equal(after.write_backs - before.write_backs, std::uint64_t{0}, "write-backs");
  });
}
