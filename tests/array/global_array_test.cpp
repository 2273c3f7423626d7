// SPDX-License-Identifier: BSL-1.0
// The promises of distributed arrays, on every model: shapes, names of cells, boxes across owners, staging,
// errors.
// test: addresses, unit array
#include <limits>
#include <pgas/array/local_views.hpp>
#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>
#include <utility>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::edge;
using pgas::halo;
using pgas::make_array;
using pgas::stage;

namespace {

using pgas::array_shape;
using pgas::halos;

// The compiler checks everything that needs no communication.
constexpr array_shape<2> plate({10, 6}, {halo{2, edge::fixed}, halo{1, edge::periodic}}, 4);
static_assert(plate.pitch() == 6 + 2 && plate.part_rows(0) == 3 + 4 && plate.part_rows(3) == 2 + 4);
static_assert(plate.part_size(0) == 7 * 8 && plate.origin() == 2 * 8 + 1);
static_assert(plate.offset({0, 0}) == plate.origin() && plate.offset({3, 2}) == plate.origin() + 2);
static_assert(plate.box_of(1) == pgas::box<2>{{3, 0}, {3, 6}});
static_assert(plate.contains({{9, 5}, {1, 1}}) && !plate.contains({{9, 5}, {2, 1}}) &&
              !plate.contains({{10, 0}, {1, 1}}));
static_assert(!plate.overflows(8) && plate.overflows(std::size_t{1} << 60U));
constexpr array_shape<1> crowded({2}, halo{3}, 5);
static_assert(crowded.has_cell({1}) && !crowded.has_cell({2}) && !plate.has_cell({0, 6}));
static_assert(crowded.part_size(1) == 1 + 6 && crowded.part_size(2) == 0,
              "a rank that owns nothing has no ghost cells");

template <class... Arrays>
concept has_local_views = requires(Arrays const&... arrays) { pgas::local_views(arrays...); };

template <class Array>
void fill_by_index(Array const& a, int round) {
  auto const cells = stage(a, pgas::write_only);
  for (std::size_t i = 0; i < a.local_rows(); ++i) {
    for (std::size_t j = 0; j < a.extent(1); ++j) {
      cells(i, j) = static_cast<int>((a.first_row() + i) * 1000 + j) + round * 1'000'000;
    }
  }
}

}  // namespace

TEST_CASE("global_array: each cell has one owner, and the owners' boxes cover the array in rank order") {
  everywhere([](auto& team) {
    for (std::size_t rows : {0U, 1U, 2U, 5U, 12U}) {
      for (std::size_t cols : {0U, 1U, 5U}) {
        auto const a = make_array<int>(team, {rows, cols}, halo{.width = rows % 3});
        require_equal(a.extent(0), rows, "extent(0)");
        require_equal(a.extent(1), cols, "extent(1)");
        require_equal(a.size(), rows * cols, "size");
        std::size_t next = 0;
        for (rank_t r = 0; r < a.ranks(); ++r) {
          auto const theirs = a.box_of(r);
          require_equal(theirs.first[0], next, "first row of a box");
          require_equal(theirs.count[1], cols, "columns of a box");
          next += theirs.count[0];
          for (std::size_t i = theirs.first[0]; cols != 0 && i < next; ++i)
            require_equal(a.owner(i, cols - 1), r, "owner");
        }
        require_equal(next, rows, "rows in all");
        require_equal(a.first_row(), a.box_of(team.rank()).first[0], "first_row");
        require_equal(a.local().extent(0), a.local_rows(), "rows of local()");
        require_equal(a.local().extent(1), cols, "columns of local()");
      }
    }
    auto const one = make_array<double>(team, 3);
    require_equal(one.local().size(), one.local_rows(), "a span of own cells");
    require_equal(one.size(), std::size_t{3}, "size");
  });
}

TEST_CASE("global_array: an epoch stores and loads a cell by its global indices") {
  everywhere([](auto& team) {
    auto const grid = make_array<int>(team, {7, 3}, {halo{.width = 1}, halo{.width = 2}});
    auto const line = make_array<double>(team, 11, halo{.width = 2});
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const mine = [&](std::size_t k) { return k % ranks == static_cast<std::size_t>(team.rank()); };
    pgas::fence at_grid{grid};
    pgas::fence at_line{line};
    for (std::size_t i = 0; i < 7; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        if (mine(i + j)) at_grid[grid.at(i, j)].store(static_cast<int>(10 * i + j));
      }
    }
    for (std::size_t i = 0; i < 11; ++i) {
      if (mine(i)) at_line[line.at(i)].store(0.5 * static_cast<double>(i));
    }
    at_grid.next();
    at_line.next();
    for (std::size_t i = 0; i < 7; ++i) {
      for (std::size_t j = 0; j < 3; ++j)
        require_equal(at_grid[grid.at({i, j})].load(), static_cast<int>(10 * i + j), "cell");
    }
    for (std::size_t i = 0; i < 11; ++i)
      require_equal(at_line[line.at(i)].load(), 0.5 * static_cast<double>(i), "cell");
    at_grid.close();
    at_line.close();
    for (std::size_t i = 0; i < grid.local_rows(); ++i) {
      int const own = grid.local()(i, 2);
      require_equal(own, static_cast<int>(10 * (grid.first_row() + i) + 2), "own cell");
    }
    for (std::size_t i = 0; i < line.local_rows(); ++i) {
      double const own = line.local()[i];
      require_equal(own, 0.5 * static_cast<double>(line.first_row() + i), "own cell");
    }
  });
}

TEST_CASE("global_array: random boxes put and got across owners equal those of a serial matrix") {
  everywhere([](auto& team) {
    random_source same(7);  // the same on every rank
    random_source own(100 + static_cast<std::uint64_t>(team.rank()));
    for (int array = 0; array < 4; ++array) {
      std::size_t const rows = 1 + same.below(12);
      std::size_t const cols = 1 + same.below(9);
      auto const a =
          make_array<int>(team, {rows, cols}, {halo{.width = same.below(3)}, halo{.width = same.below(3)}});
      std::vector<int> serial(rows * cols);
      auto const some_box = [&](random_source& rng) {
        pgas::box<2> b;
        b.first = {rng.below(rows), rng.below(cols)};
        b.count = {rng.below(rows - b.first[0] + 1), rng.below(cols - b.first[1] + 1)};
        return b;
      };
      pgas::fence epoch{a};
      for (int round = 0; round < 6; ++round) {
        auto const box = some_box(same);
        rank_t const writer = same.rank_below(team.size());
        std::vector<int> values(box.size());
        for (int& value : values) value = static_cast<int>(same());
        if (team.rank() == writer) epoch.put(box, values);
        for (std::size_t k = 0; k < values.size(); ++k) {
          serial[(box.first[0] + k / box.count[1]) * cols + box.first[1] + k % box.count[1]] = values[k];
        }
        epoch.next();
        auto const wanted = some_box(own);
        std::vector<int> seen(wanted.size(), -1);
        epoch.get(wanted, seen);
        epoch.flush_local_all();
        for (std::size_t k = 0; k < seen.size(); ++k) {
          require_equal(
              seen[k],
              serial[(wanted.first[0] + k / wanted.count[1]) * cols + wanted.first[1] + k % wanted.count[1]],
              "a cell of a box");
        }
        epoch.next();
      }
    }
  });
}

TEST_CASE("global_array: ranges of one dimension are put and got across owners") {
  everywhere([](auto& team) {
    std::size_t const n = 23;
    auto const a = make_array<double>(team, n, halo{.width = 3, .edges = edge::periodic});
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = 1.0 / static_cast<double>(i + 1);
    pgas::fence epoch{a};
    if (team.rank() == team.size() - 1) epoch.put(0, all);
    epoch.next();
    for (std::size_t first = 0; first <= n; first += 4) {
      std::vector<double> seen((n - first) / 2);
      epoch.get(first, seen);
      epoch.flush_local_all();
      for (std::size_t i = 0; i < seen.size(); ++i)
        require_equal(seen[i], all[first + i], "element of a range");
    }
  });
}

TEST_CASE(
    "global_array: stage gives own cells as plain memory, to read, to overwrite and to change in part") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {9, 4}, halo{.width = 1});
    {
      auto const whole = stage(a, pgas::read_write);  // ghost cells too
      for (std::ptrdiff_t i = -1; i <= static_cast<std::ptrdiff_t>(a.local_rows()); ++i) {
        for (std::ptrdiff_t j = -1; a.local_rows() != 0 && j <= 4; ++j) whole(i, j) = -7;
      }
    }
    fill_by_index(a, 0);
    {
      auto const some = stage(a, pgas::read_write);
      if (a.local_rows() != 0) some(0, 1) = 5;
    }
    auto const seen = stage(a, pgas::read_only);
    auto const view = seen.view();
    require_equal(view.extent(0), a.local_rows(), "rows of a view");
    require_equal(view.size(), seen.size(), "size of a view");
    for (std::size_t i = 0; i < view.extent(0); ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        require_equal(view(i, j), i == 0 && j == 1 ? 5 : static_cast<int>((a.first_row() + i) * 1000 + j),
                      "own cell");
        require_equal(&view.row(i)[j], &view(i, j), "a row is a span of the same memory");
      }
      require_equal(view(i, -1), -7, "ghost cell before a row");
      require_equal(view(i, 4), -7, "ghost cell after a row");
    }
    for (int j = -1; a.local_rows() != 0 && j <= 4; ++j) {
      require_equal(view(-1, j), -7, "ghost row above");
      require_equal(view(a.local_rows(), j), -7, "ghost row below");
    }

    auto const line = make_array<int>(team, 10, halo{.width = 2});
    {
      auto const out = stage(line, pgas::write_only);
      int next = static_cast<int>(line.first_row());
      for (int& cell : out) cell = next++;
    }
    auto const in = stage(line, pgas::read_only);
    for (std::size_t i = 0; i < in.size(); ++i)
      require_equal(in[i], static_cast<int>(line.first_row() + i), "own cell");
    if (line.local_rows() != 0) require_equal(in(-1) + in(line.local_rows()), 0, "ghost cells are untouched");
    require_equal(in.view().size(), line.local_rows(), "a span");
  });
}

TEST_CASE("global_array: local_views gives the own parts of arrays that lie alike, ghost cells too") {
  everywhere([](auto& team) {
    constexpr halo around{.width = 1};
    auto const a = make_array<int>(team, {9, 4, 3}, around);
    auto const b = make_array<float>(team, {9, 4, 3}, around);
    auto const c = make_array<int>(team, {9, 4, 3}, around);
    auto const [u, v, w] = pgas::local_views(a, b, c);
    static_assert(std::is_same_v<decltype(u), decltype(a.local()) const> &&
                      std::is_same_v<decltype(v), decltype(b.local()) const>,
                  "each view is of the type that local() returns");
    require(u.extents() == a.local_extents() && v.extents() == a.local_extents(), "extents of the views");
    for (std::size_t i = 0; i < u.extent(0); ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t k = 0; k < 3; ++k) {
          int const cell = static_cast<int>(100 * i + 10 * j + k);
          u(i, j, k) = cell;
          v(i, j, k) = 0.5F * static_cast<float>(cell);
          w(i, j, k) = -cell;
        }
        w(i, j, -1) = 7;
      }
    }
    for (std::size_t i = 0; i < u.extent(0); ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t k = 0; k < 3; ++k) {
          int const cell = static_cast<int>(100 * i + 10 * j + k);
          require_equal(static_cast<int>(a.local()(i, j, k)), cell, "own cell of the first array");
          require_equal(static_cast<float>(b.local()(i, j, k)), 0.5F * static_cast<float>(cell),
                        "own cell of the second array");
          require_equal(static_cast<int>(c.local()(i, j, k)), -cell, "own cell of the third array");
        }
        require_equal(static_cast<int>(c.local()(i, j, -1)), 7, "ghost cell of the third array");
        require_equal(static_cast<int>(a.local()(i, j, -1)), 0, "ghost cell of the first array");
      }
    }

    auto const table = make_array<int>(team, {5, 2});
    auto const [only] = pgas::local_views(table);
    require_equal(only.extent(0), table.local_rows(), "rows of one view");
    auto const x = make_array<int>(team, 7);
    auto const y = make_array<double>(team, 7, halo{.width = 2});
    auto const [p, q] = pgas::local_views(x, y);
    for (std::size_t i = 0; i < p.size(); ++i) q[i] = static_cast<double>(i);
    require_equal(q.size(), y.local_rows(), "a range of one dimension");
    for (std::size_t i = 0; i < q.size(); ++i)
      require_equal(static_cast<double>(y.local()[i]), static_cast<double>(i), "own cell of a range");
  });
}

TEST_CASE("global_array: local_views refuses parts that do not lie alike, and says which array differs") {
  everywhere([](auto& team) {
    std::string const self = "rank " + std::to_string(team.rank());
    auto const rows = static_cast<std::size_t>(team.size());
    auto const a = make_array<int>(team, {rows, 3});
    auto const b = make_array<int>(team, {rows, 3});
    auto const longer = make_array<int>(team, {2 * rows, 3});
    auto const with_halo = make_array<int>(team, {rows, 3}, halo{.width = 1});
    require_error(errc::invalid_argument,
                  {self, "local_views", "array 2 has 2 x 3 own cells", "array 1 has 1 x 3"},
                  [&] { static_cast<void>(pgas::local_views(a, longer, b)); });
    require_error(errc::invalid_argument,
                  {self, "local_views", "array 3 has 1 x 3 own cells at distances of 5, 1",
                   "array 1 has 1 x 3 at 3, 1"},
                  [&] { static_cast<void>(pgas::local_views(a, b, with_halo)); });
    auto const line = make_array<int>(team, rows);
    static_assert(!has_local_views<decltype(a), decltype(line)>, "arrays of other dimensions");
    static_assert(!has_local_views<decltype(a), int>, "no array");
  });
}

TEST_CASE("global_array: an access that one of several owners refuses changes no cell") {
  everywhere(
      [](auto& team) {
        auto a = make_array<int>(team, {static_cast<std::size_t>(team.size()) * 2, 3});
        fill_by_index(a, 0);
        { pgas::fence const all_filled{a}; }
        auto const last = static_cast<std::size_t>(team.size()) * 2 - 2;  // the first row of the last rank
        pgas::box<2> const rows{{last - 1, 0}, {2, 3}};
        std::vector<int> const values(6, -1);
        std::vector<int> got(6, -2);
        std::vector<std::array<std::size_t, 2>> const cells{{last - 1, 0}, {last, 0}};
        std::array<bool, 6> const mask{true, false, false, true, false, false};
        auto const refused = [&](auto& epoch, errc code) {
          require_error(code, {"put"}, [&] { epoch.put(rows, values); });
          require_error(code, {"get"}, [&] { epoch.get(rows, got); });
          require_error(code, {"accumulate"}, [&] { epoch.accumulate(rows, values); });
          require_error(code, {"put"}, [&] { epoch.put(cells, std::span(values).first(2)); });
          require_error(code, {"put"}, [&] { epoch.put(rows, mask, std::span(values).first(2)); });
          require(got == std::vector<int>(6, -2), "a refused get stores no value");
        };
        if (team.rank() == 0) {
          std::vector<int> const row{7, 8, 9};
          pgas::lock epoch{a, team.size() - 2, pgas::exclusive};
          refused(epoch, errc::wrong_order);
          epoch.put({{last - 1, 0}, {1, 3}}, row);
        }
        team.barrier();
        {
          rank_t const target = team.size() - 2;
          std::vector<rank_t> origins;
          if (team.rank() == target) {
            for (rank_t r = 0; r < team.size(); ++r) origins.push_back(r);
          }
          pgas::exposure exposed{a, origins};
          pgas::access epoch{a, {target}};
          refused(epoch, errc::outside_group);
        }
        { pgas::fence const all_refused{a}; }
        pgas::lock_all epoch{a, pgas::read_only};
        std::vector<int> seen(6);
        epoch.get(rows, seen);
        epoch.flush_local_all();
        int const next = static_cast<int>(last) * 1000;
        require(seen == std::vector<int>{7, 8, 9, next, next + 1, next + 2},
                "only the access that fits changed cells");
      },
      {2, 3, 4});
}

TEST_CASE("global_array: staged cells stay those of their array when it is swapped, moved or destroyed") {
  everywhere([](auto& team) {
    auto a = make_array<int>(team, {7, 3});
    auto b = make_array<int>(team, {7, 3});
    fill_by_index(a, 1);
    fill_by_index(b, 2);
    auto const first_row = static_cast<int>(a.first_row()) * 1000;
    bool const has_cells = a.local_rows() != 0;
    {
      auto const cells = stage(a, pgas::read_write);
      std::swap(a, b);
      if (has_cells) {
        require_equal(cells(0, 1), 1'000'001 + first_row, "a staged cell after the swap");
        cells(0, 1) = -5;
      }
    }
    {
      auto const in_a = stage(a, pgas::read_only);
      auto const in_b = stage(b, pgas::read_only);
      if (has_cells) {
        require_equal(in_a(0, 1), 2'000'001 + first_row, "the cell of the array that was not staged");
        require_equal(in_b(0, 1), -5, "the cell that was stored after the swap");
      }
    }
    auto const cells = stage(b, pgas::read_only);
    { auto const gone = std::move(b); }
    if (has_cells) require_equal(cells(0, 1), -5, "a staged cell of a destroyed array");
  });
}

TEST_CASE("global_array: an array may be moved and swapped, also while an epoch is open on it") {
  everywhere([](auto& team) {
    auto a = make_array<int>(team, {5, 3});
    auto b = make_array<int>(team, {5, 3});
    fill_by_index(a, 1);
    fill_by_index(b, 2);
    pgas::fence epoch{a};
    std::swap(a, b);
    require_equal(epoch[b.at(4, 2)].load(), 1'004'002, "the epoch stays with the memory");
    require_equal(epoch.get({4, 2}), 1'004'002, "the epoch stays with the memory");
    auto moved = std::move(epoch);
    require_error(errc::wrong_order, {"get", "moved to another object"}, [&] { return epoch.get({4, 2}); });
    require_error(errc::wrong_order, {"moved to another object"}, [&] { epoch.put(0, 0, 1); });
    require_error(errc::wrong_order, {"flush_all", "moved to another object"}, [&] { epoch.flush_all(); });
    std::vector<int> row(3);
    moved.get({{4, 0}, {1, 3}}, row);
    moved.flush_local_all();
    require(row == std::vector<int>{1'004'000, 1'004'001, 1'004'002}, "the moved epoch gets the row");
    moved.close();
    auto c = std::move(b);
    pgas::fence again{c};
    require_equal(again[c.at(3, 0)].load(), 1'003'000, "cell");
  });
}

TEST_CASE(
    "global_array: if ranks ask for different arrays, every rank learns which rank asks for which array") {
  everywhere([](auto& team) {
    if (team.size() == 1) return;
    bool const other = team.rank() == team.size() - 1;
    std::string const who = "rank " + std::to_string(team.size() - 1) + " makes an array of ";
    require_error(errc::mismatch, {who + "11 x 4", "rank 0 one of 10 x 4", "make_array"}, [&] {
      return make_array<int>(team, {other ? 11U : 10U, 4U});
    });
    require_error(errc::mismatch, {who + "9 with halo 2 fixed", "rank 0 one of 9 with halo 1 fixed"},
                  [&] { return make_array<int>(team, 9, halo{.width = other ? 2U : 1U}); });
    require_error(errc::mismatch, {who, "periodic", "fixed"}, [&] {
      return make_array<int>(team, 9, halo{.width = 1, .edges = other ? edge::periodic : edge::fixed});
    });
    require_error(errc::mismatch, {"dimensions"}, [&] {
      if (other) {
        static_cast<void>(make_array<int>(team, 9));
      } else {
        static_cast<void>(make_array<int>(team, {9, 9}));
      }
    });
    fill_by_index(make_array<int>(team, {4, 4}), 0);  // the team works as before
    team.barrier();
  });
}

TEST_CASE("global_array: extents may be of any integer type") {
  everywhere([](auto& team) {
    int const rows = 6;
    long const cols = 4;
    auto const a = make_array<int>(team, {rows, 3});
    auto const b = make_array<int>(team, {cols, cols}, halo{.width = 1});
    auto const c = make_array<int>(team, rows, halo{.width = 1});
    require_equal(a.extent(0) * a.extent(1), 18U, "cells of two extents of type int");
    require_equal(b.extent(0) * b.extent(1), 16U, "cells of two extents of type long");
    require_equal(c.extent(0), 6U, "cells of one extent of type int");
    require_equal(make_window<int>(team, rows).size(), 6U, "elements of a window");
    require_error(errc::invalid_argument, {"make_window", "asks for -6 elements"},
                  [&] { return make_window<int>(team, -rows); });
  });
}

TEST_CASE("global_array: extents that no address can reach are refused on every rank") {
  everywhere([](auto& team) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    require_error(errc::invalid_argument, {"make_array", "no array of -1 with"},
                  [&] { return make_array<char>(team, most); });
    require_error(errc::no_space, {"make_array"}, [&] { return make_array<int>(team, {most / 4, 3}); });
    require_error(errc::no_space, {"make_array", std::to_string(most / 2)},
                  [&] { return make_array<int>(team, most / 2); });
    require_error(errc::invalid_argument, {"make_array"}, [&] {
      return make_array<int>(team, {most / 2 + 1, 0});
    });
    require_error(errc::no_space, {"make_array"}, [&] { return make_array<int>(team, {most / 2, 0}); });
    require_error(errc::invalid_argument, {"make_array", "halo -2"},
                  [&] { return make_array<int>(team, 5, halo{.width = most - 1}); });
    require_error(errc::no_space, {"make_array"},
                  [&] { return make_array<int>(team, 5, halo{.width = most / 2}); });
    require_error(errc::no_space, {"make_array"}, [&] {
      return make_array<int>(team, {5, 5}, halo{.width = most / 16});
    });
    team.barrier();
  });
}

TEST_CASE(
    "global_array: access and lock_all epochs reach cells by their indices; access reaches its group's "
    "only") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {2 * static_cast<std::size_t>(team.size()), 3});
    rank_t const right = (team.rank() + 1) % team.size();
    rank_t const left = (team.rank() + team.size() - 1) % team.size();
    auto const first = 2 * static_cast<std::size_t>(right);  // row of the right neighbour
    {
      pgas::exposure exposed{a, {left}};
      pgas::access epoch{a, {right}};
      static_assert(pgas::array_epoch<decltype(epoch)> && !pgas::epoch_to_all<decltype(epoch)>);
      std::vector<int> const row{1, 2, 3};
      epoch.put({{first, 0}, {1, 3}}, row);
      epoch.put({first + 1, 2}, 6);
      std::array const two{5, 4};
      epoch.put(std::vector<std::array<std::size_t, 2>>{{first + 1, 1}, {first + 1, 0}}, two);
      if (team.size() > 1) {
        pgas::box<2> const own_row{{a.first_row(), 0}, {1, 3}};
        require_error(errc::outside_group, {"not in the group"}, [&] { epoch.put(own_row, row); });
      }
      epoch.complete();
      exposed.wait();
    }
    pgas::lock_all epoch{a};
    static_assert(pgas::array_epoch<decltype(epoch)> && pgas::epoch_to_all<decltype(epoch)>);
    std::vector<int> seen(6);
    epoch.get({{first, 0}, {2, 3}}, seen);
    epoch.flush_local(right);
    require(seen == std::vector<int>{1, 2, 3, 4, 5, 6},
            "the values that the neighbour's left neighbour has put");
    require_equal(epoch.get({first, 1}), 2, "one cell");
    epoch.close();
    team.barrier();
  });
}

TEST_CASE(
    "global_array: ranges of one dimension are accumulated by all ranks, and one element is put and got") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 11);
    pgas::fence epoch{a};
    std::vector<int> const ones(7, 1);
    epoch.accumulate(3, ones);
    epoch.next();
    if (team.rank() == 0) epoch.put({0}, 5);
    epoch.next();
    require_equal(epoch.get({0}), 5, "the element that rank 0 has put");
    require_equal(epoch.get({9}), static_cast<int>(team.size()), "ones that all ranks have added");
    require_equal(epoch.get({10}), 0, "the element behind them");
  });
}

TEST_CASE("global_array: an index or a box past the end is an error with rank, index and bound") {
  everywhere([](auto& team) {
    std::string const self = "rank " + std::to_string(team.rank());
    auto const a = make_array<int>(team, {10, 4}, halo{.width = 1});
    auto const empty = make_array<int>(team, 0);
    require_error(errc::out_of_range, {self, "at", "cell (10, 0)", "10 x 4"}, [&] { return a.at(10, 0); });
    require_error(errc::out_of_range, {self, "cell (3, 4)"}, [&] { return a.at(3, 4); });
    require_error(errc::out_of_range, {self, "at", "cell (-1, 0)"}, [&] { return a.at(-1, 0); });
    require_error(errc::out_of_range, {self, "owner", "cell (11, 1)"}, [&] { return a.owner(11, 1); });
    require_error(errc::out_of_range, {self, "cell (0)", "array of 0"}, [&] { return empty.at(0); });
    require_error(errc::out_of_range, {self, "box_of"}, [&] { return a.box_of(team.size()); });
    pgas::fence epoch{a};
    std::vector<int> values(16);
    require_error(errc::out_of_range, {self, "get", "4 x 4 cells do not fit at (7, 0)", "10 x 4"}, [&] {
      epoch.get({{7, 0}, {4, 4}}, values);
    });
    require_error(errc::out_of_range, {self, "put", "2 x 8 cells"}, [&] {
      epoch.put({{0, 0}, {2, 8}}, values);
    });
    require_error(errc::out_of_range, {self, "put"}, [&] {
      epoch.put({{std::numeric_limits<std::size_t>::max(), 0}, {4, 4}}, values);
    });
    require_error(errc::invalid_argument, {self, "get", "16 values given for 12 cells"}, [&] {
      epoch.get({{0, 0}, {3, 4}}, values);
    });
    require_error(errc::out_of_range, {self, "get", "cell (3, 4)", "10 x 4"}, [&] {
      return epoch.get({3, 4});
    });
    require_error(errc::out_of_range, {self, "put", "cell (10, 0)"}, [&] { epoch.put({10, 0}, 1); });
  });
}
