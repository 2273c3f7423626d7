// SPDX-License-Identifier: BSL-1.0
// Views over local parts and over segments, with range-v3, on every model.
// test: addresses, unit halo
#include <numeric>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/stage.hpp>
#include <pgas/stencil.hpp>
#include <pgas/transformed_array.hpp>
#include <range/v3/algorithm/copy.hpp>
#include <range/v3/algorithm/equal.hpp>
#include <range/v3/algorithm/fill.hpp>
#include <range/v3/algorithm/for_each.hpp>
#include <range/v3/algorithm/sort.hpp>
#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/stride.hpp>
#include <range/v3/view/zip.hpp>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::halo;
using pgas::make_array;
namespace rv = ranges::views;

namespace {

constexpr int cells[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr pgas::matrix_view<int const> inner(cells + 5, 2, 2, 4);  // 5 6 / 9 10 of a matrix of 3 x 4
static_assert(inner(0, 0) == 5 && inner(1, 1) == 10 && inner(-1, -1) == 0 &&
              inner(std::size_t{0} - 1, 2) == 3);
static_assert(inner.extent(0) == 2 && inner.stride(0) == 4 && inner.stride(1) == 1 && inner.size() == 4);
static_assert(inner.row(1).size() == 2 && inner.row(1)[0] == 9 && inner[std::array{1, 0}] == 9);
static_assert(inner.submatrix(1, 0, 1, 2)(0, 1) == 10 && pgas::matrix_view<int const>::rank() == 2);
static_assert(std::is_convertible_v<pgas::matrix_view<int>, pgas::matrix_view<int const>> &&
              !std::is_convertible_v<pgas::matrix_view<int const>, pgas::matrix_view<int>>);

}  // namespace

TEST_CASE("views: own cells of one dimension are a random access view, to read and to write") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, 17, halo{.width = 2});
    auto const own = pgas::views::local(a);
    static_assert(ranges::view_<decltype(own)> || ranges::view_<std::remove_const_t<decltype(own)>>);
    static_assert(ranges::random_access_range<decltype(own)> && ranges::sized_range<decltype(own)>);
    require_equal(static_cast<std::size_t>(ranges::size(own)), a.local_rows(), "size");
    ranges::copy(rv::iota(static_cast<int>(a.first_row()), static_cast<int>(a.first_row() + a.local_rows())) |
                     rv::reverse,
                 own.begin());
    ranges::sort(own);
    int next = static_cast<int>(a.first_row());
    for (int const value : own) require_equal(value, next++, "sorted cell");
    auto const squares = own | rv::transform([](int x) { return x * x; });
    int const sum = team.all_reduce(ranges::accumulate(squares, 0));
    require_equal(sum, 16 * 17 * 33 / 6, "sum of squares over all ranks");
    std::vector<int> copied(a.local_rows());
    ranges::copy(pgas::views::local(a) | rv::transform([](int x) { return 2 * x; }), copied.begin());
    require(ranges::equal(copied, own, [](int twice, int x) { return twice == 2 * x; }),
            "cells are copied through a transform");
  });
}

TEST_CASE("views: own cells of two dimensions are one sequence, row after row, without ghost cells") {
  everywhere([](auto& team) {
    for (std::size_t cols : {0U, 1U, 5U}) {
      auto const a = make_array<int>(team, {6, cols}, {halo{.width = 1}, halo{.width = 2}});
      auto const own = pgas::views::local(a);
      static_assert(ranges::random_access_range<decltype(own)> && ranges::sized_range<decltype(own)>);
      require_equal(static_cast<std::size_t>(ranges::size(own)), a.own_box().size(), "size");
      ranges::copy(rv::iota(0, static_cast<int>(a.own_box().size())), own.begin());
      {
        auto const staged = pgas::stage(a, pgas::read_only);
        for (std::size_t i = 0; i < a.local_rows(); ++i) {
          for (std::size_t j = 0; j < cols; ++j)
            require_equal(staged(i, j), static_cast<int>(i * cols + j), "cell");
          if (cols != 0) require_equal(staged(i, -1) + staged(i, cols), 0, "ghost cells");
        }
      }
      for (std::ptrdiff_t k = 0; k < ranges::distance(own); ++k) {
        require_equal(static_cast<int>(own.begin()[k]), static_cast<int>(k), "by index");
        require_equal(static_cast<int>(*(own.end() - (k + 1))),
                      static_cast<int>(ranges::distance(own) - k - 1), "from the end");
        require_equal((own.begin() + k) - own.begin(), k, "distance");
      }
      int last = static_cast<int>(a.own_box().size());
      for (int const value : own | rv::reverse) require_equal(value, --last, "backwards");
      require_equal(last, 0, "all cells backwards");
    }
  });
}

TEST_CASE("views: rows of the own part are views themselves") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {7, 3}, halo{.width = 1});
    std::size_t row = 0;
    for (auto cells_of_row : pgas::views::rows(a)) {
      require_equal(static_cast<int>(ranges::distance(cells_of_row)), 3, "cells of a row");
      ranges::copy(rv::iota(0, 3), cells_of_row.begin());
      ++row;
    }
    require_equal(row, a.local_rows(), "rows");
    int const sum = ranges::accumulate(pgas::views::local(a) | rv::stride(3), 0);
    require_equal(sum, 0, "the first column");
    require_equal(ranges::accumulate(pgas::views::local(a), 0), static_cast<int>(3 * a.local_rows()),
                  "all columns");
  });
}

TEST_CASE("views: rows of a box, shifted or not, are zipped to a loop over neighbours") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {6, 3, 4}, halo{.width = 1});
    auto const b = make_array<int>(team, {6, 3, 4});
    {
      auto const staged = pgas::stage(a, pgas::read_write);
      for (int i = 0; i < static_cast<int>(a.local_rows()); ++i)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 4; ++k) staged(i, j, k) = 100 * i + 10 * j + k;
    }
    auto const own = own_cells(a);
    auto below = own;
    below.first[1] = 1;  // the other rows have no neighbour of a value
    auto const to = pgas::views::rows(b, below);
    auto const from = pgas::views::rows(a, shifted(below, {0, -1, 0}));
    require_equal(static_cast<std::size_t>(ranges::distance(to)), 2 * a.local_rows(), "rows of the box");
    for (std::ptrdiff_t r = 0; r < ranges::distance(to); ++r) {
      require_equal(static_cast<std::size_t>(ranges::distance(from[r])), std::size_t{4}, "cells of a row");
      for (auto&& [result, cell] : rv::zip(to[r], from[r])) result = static_cast<int>(cell) + 1;
    }
    auto const result = pgas::stage(b, pgas::read_only);
    for (int i = 0; i < static_cast<int>(a.local_rows()); ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          require_equal(result(i, j, k), j == 0 ? 0 : 100 * i + 10 * (j - 1) + k + 1, "cell");
    below.end[2] = below.first[2];
    require_equal(static_cast<int>(ranges::distance(pgas::views::rows(a, below))), 0, "rows of no box");
  });
}

TEST_CASE("views: rows in memory are zipped by one index, and rows of two lengths are refused") {
  std::vector<int> sums(3);
  std::array<int, 3> const ones{1, 2, 3};
  for (auto&& [sum, one, again] : pgas::views::zip(sums, ones, ones)) sum += one + again;
  CHECK(sums == std::vector{2, 4, 6});
  std::vector<int> const longer(4);
  CHECK_THROWS_WITH_AS(static_cast<void>(pgas::views::zip(sums, longer)),
                       doctest::Contains("several lengths"), pgas::error);
}

TEST_CASE("views: the number of a row finds it in boxes of any shape, thin and long ones included") {
  std::vector<int> memory(5 * 4 * 3 * 2);
  pgas::box_view<int, 4> const all(memory.data(), {5, 4, 3, 2}, {24, 6, 2, 1});
  for (std::ptrdiff_t i : {1, 2, 5}) {
    for (std::ptrdiff_t j : {1, 3, 4}) {
      for (std::ptrdiff_t k : {1, 2, 3}) {
        auto const rows = pgas::views::rows(all, pgas::part_box<4>{{}, {i, j, k, 2}});
        auto step = rows.begin();
        for (std::ptrdiff_t r = 0; r < i * j * k; ++r, ++step)
          require_equal(&rows[r][0] - memory.data(), &(*step)[0] - memory.data(), "place of the row");
        CHECK(step == rows.end());
      }
    }
  }
  // More rows than 2^32, of which each third is the same memory.
  std::size_t const steps = std::size_t{1} << 34U;
  pgas::detail::rows_of_memory<int, 3> const far{memory.data(), {0, 1, 1}, {steps, 3, 1}};
  pgas::detail::memory_rows<3, int> const rows(far);
  for (std::size_t const number :
       {std::size_t{7}, (std::size_t{1} << 32U) - 1, std::size_t{1} << 32U, 3 * steps - 1}) {
    auto const row = rows[static_cast<std::ptrdiff_t>(number)];
    require_equal(static_cast<std::size_t>(row.data() - memory.data()), number % 3, "row of many");
  }
}

TEST_CASE(
    "views: rows that are found by their numbers are zipped, with the same way to them and with others") {
  std::vector<int> memory(5 * 4 * 3 * 2);
  pgas::box_view<int, 4> const near(memory.data(), {5, 4, 3, 2}, {24, 6, 2, 1});
  pgas::box_view<int, 4> const apart(memory.data(), {5, 2, 3, 2}, {24, 12, 3, 1});
  pgas::part_box<4> const box{{}, {5, 2, 2, 2}};
  auto const rows = pgas::views::rows(near, box);
  auto const below = pgas::views::rows(near, shifted(box, {0, 1, 1, 0}));
  auto const other = pgas::views::rows(apart, box);
  auto const fewer = pgas::views::rows(near, pgas::part_box<4>{{}, {5, 4, 1, 2}});
  for (std::ptrdiff_t r = 0; r < 5 * 2 * 2; ++r) {
    auto const require_found = [&](auto const& more, std::ptrdiff_t number, char const* which) {
      auto const zipped = pgas::views::zip(rows[r], more[number]);
      require_equal(ranges::distance(zipped), std::ptrdiff_t{2}, which);
      require_equal(&std::get<0>(zipped[1]) - memory.data(), &rows.begin()[r][1] - memory.data(), which);
      require_equal(&std::get<1>(zipped[1]) - memory.data(), &more.begin()[number][1] - memory.data(), which);
    };
    require_found(below, r, "row with the same way");
    require_found(below, 19 - r, "row with another number");
    require_found(other, r, "row in memory with other distances");
    require_found(fewer, r, "row of a box with other counts");
  }
  // A box of so many rows that estimates of quotients are too large.
  std::size_t const planes = (std::size_t{1} << 30U) + 1;
  std::size_t const rows_of_plane = (std::size_t{1} << 32U) - 5;
  pgas::detail::rows_of_memory<int, 3> const far{memory.data(), {7, 0, 1}, {planes, rows_of_plane, 1}};
  pgas::detail::memory_rows<3, int> const many(far);
  pgas::detail::memory_rows<3, int, int> const twice(far, far);
  for (std::size_t const plane : {std::size_t{1}, planes / 2, planes - 1}) {
    for (std::ptrdiff_t by : {-1, 0}) {
      auto const number = static_cast<std::ptrdiff_t>(plane * rows_of_plane) + by;
      auto const* const expected = memory.data() + 7 * (static_cast<std::ptrdiff_t>(plane) + by);
      CHECK(many[number].data() == expected);
      CHECK(&std::get<1>(pgas::views::zip(many[number], many[number])[0]) == expected);
      CHECK(&std::get<0>(pgas::views::zip(many[number])[0]) == expected);
      CHECK(&std::get<1>(twice[number][0]) == expected);
    }
  }
}

TEST_CASE("views: rows of boxes are zipped one after the other, and rows of two shapes are refused") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {6, 3, 4, 2}, halo{.width = 1});
    auto const b = make_array<int>(team, {6, 3, 4, 2});
    auto const own = own_cells(a);
    auto const number = [](auto i, auto j, auto k, auto l) {
      return static_cast<int>(1000 * i + 100 * j + 10 * k + l);
    };
    {
      auto const staged = pgas::stage(a, pgas::read_write);
      pgas::for_each_cell(own, [&](auto... i) { staged(i...) = number(i...); });
    }
    auto inside = own;  // rows of which each plane has fewer than the array
    inside.first[1] = 1;
    inside.end[2] = 3;
    std::size_t const count = 2 * 3 * a.local_rows();
    {
      auto const from = pgas::stage(a, pgas::read_only);
      auto const to = pgas::stage(b, pgas::write_only);
      pgas::for_each_cell(own, [&](auto... i) { to(i...) = -1; });
      auto const rows = pgas::views::zip(pgas::views::rows(to.view(), inside),
                                         pgas::views::rows(from.view(), shifted(inside, {0, -1, 1, 0})));
      require_equal(static_cast<std::size_t>(ranges::size(rows)), count, "rows");
      for (auto const row : rows)
        for (auto&& [result, cell] : row) result = cell;
      // Steps and jumps lead to the same rows, from the first one and from the end.
      auto step = rows.begin();
      for (std::ptrdiff_t r = 0; r < ranges::distance(rows); ++r, ++step) {
        CHECK(&std::get<1>(rows[r][0]) == &std::get<1>((*step)[0]));
        CHECK(&std::get<0>((*(rows.end() - (ranges::distance(rows) - r)))[1]) == &std::get<0>((*step)[1]));
      }
      CHECK(step == rows.end());
      for (auto const row : rows | rv::reverse) {
        --step;
        CHECK(&std::get<0>(row[0]) == &std::get<0>((*step)[0]));
      }
      auto shorter = inside;
      --shorter.end[3];
      if (count != 0) {  // boxes without cells have one shape
        CHECK_THROWS_WITH_AS(static_cast<void>(pgas::views::zip(pgas::views::rows(to.view(), inside),
                                                                pgas::views::rows(from.view(), shorter))),
                             doctest::Contains("several shapes"), pgas::error);
      }
    }
    auto const result = pgas::stage(b, pgas::read_only);
    for (int i = 0; i < static_cast<int>(a.local_rows()); ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          for (int l = 0; l < 2; ++l)
            require_equal(result(i, j, k, l), j >= 1 && k < 3 ? number(i, j - 1, k + 1, l) : -1, "cell");
  });
}

TEST_CASE("for_each_cell: a kernel on local views gets each cell of a box once") {
  everywhere([](auto& team) {
    auto const u = make_array<int>(team, {6, 5}, halo{.width = 1});
    auto const v = make_array<int>(team, {6, 5});
    auto const line = make_array<int>(team, 9, halo{.width = 1});
    auto const own = own_cells(u);
    auto const from = u.local();
    auto const to = v.local();
    pgas::for_each_cell(own, [&](auto i, auto j) {
      from(i, j) = static_cast<int>(10 * i + j);
      to(i, j) = 0;
    });
    auto inside = own;
    inside.first[1] = 1;
    pgas::for_each_cell(inside, [&](auto i, auto j) { to(i, j) += static_cast<int>(from(i, j - 1)); });
    inside.end[0] = inside.first[0];
    pgas::for_each_cell(inside, [&](auto i, auto j) { to(i, j) = -1; });
    for (int i = 0; i < static_cast<int>(u.local_rows()); ++i)
      for (int j = 0; j < 5; ++j)
        require_equal(static_cast<int>(to(i, j)), j == 0 ? 0 : 10 * i + j - 1, "cell");
    std::vector<int> calls(line.local_rows());
    pgas::for_each_cell(own_cells(line), [&](auto i) { ++calls[static_cast<std::size_t>(i)]; });
    CHECK(calls == std::vector<int>(line.local_rows(), 1));
  });
}

TEST_CASE("views: a staged cell has its indices in the whole array, too") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {7, 5}, halo{.width = 1});
    auto const line = make_array<int>(team, 9, halo{.width = 1});
    auto const [first, count] = a.own_box();
    {
      auto const staged = pgas::stage(a, pgas::write_only);
      for (std::size_t i = first[0]; i < first[0] + count[0]; ++i)
        for (std::size_t j = 0; j < 5; ++j) staged.at(i, j) = static_cast<int>(10 * i + j);
      auto const on_line = pgas::stage(line, pgas::write_only);
      for (std::size_t i = 0; i < line.local_rows(); ++i)
        on_line.at(line.first_row() + i) = static_cast<int>(i);
    }
    auto const staged = pgas::stage(a, pgas::read_only);
    for (std::size_t i = 0; i < count[0]; ++i)
      for (std::size_t j = 0; j < 5; ++j)
        require_equal(staged(i, j), static_cast<int>(10 * (first[0] + i) + j), "cell");
    auto const on_line = pgas::stage(line, pgas::read_only);
    for (std::size_t i = 0; i < line.local_rows(); ++i)
      require_equal(on_line(i), static_cast<int>(i), "cell of the line");
  });
}

TEST_CASE("views: aligned arrays are zipped in place, others refused with both layouts") {
  everywhere(
      [](auto& team) {
        auto const a = make_array<double>(team, {5, 4}, halo{.width = 1});
        auto const b = make_array<double>(team, {5, 4});
        ranges::copy(rv::iota(0, static_cast<int>(a.own_box().size())), pgas::views::local(a).begin());
        for (auto&& [from, to] : pgas::views::zip(a, b)) to = 2 * static_cast<double>(from);
        double const sum = ranges::accumulate(pgas::views::local(b), 0.0);
        auto const n = static_cast<double>(b.own_box().size());
        require_equal(sum, n * (n - 1), "twice the sum");
        // The same number of rows on each rank, but different rows, unless one rank has all.
        auto const dealt = make_array<double>(team, {5, 4}, pgas::tiled{pgas::cyclic{}, pgas::whole{}});
        if (team.size() == 1) return static_cast<void>(pgas::views::zip(a, b, dealt));
        require_error(errc::invalid_argument,
                      {"rank " + std::to_string(team.rank()), "zip", "5 x 4, tiled(block, whole)",
                       "5 x 4, tiled(cyclic, whole)", "not aligned"},
                      [&] { static_cast<void>(pgas::views::zip(a, b, dealt)); });
      },
      {1, 2, 3, 4});
}

TEST_CASE("views: segments name every rank's piece in order, and its memory if that is shared") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {5, 2}, halo{.width = 1});
    auto const line = make_array<int>(team, 3);
    std::size_t next = 0;
    rank_t r = 0;
    for (auto piece : segments(a)) {
      require_equal(rank(piece), r, "rank");
      require_equal(piece.first_row(), next, "first row");
      require_equal(piece.size(), a.box_of(r).size(), "size");
      require_equal(piece.empty(), piece.size() == 0, "empty");
      require_equal(piece.is_own(), r == team.rank(), "is_own");
      next += piece.box().count[0];
      ++r;
    }
    require_equal(r, team.size(), "a piece for each rank");
    require_equal(next, std::size_t{5}, "rows in all");
    require_equal(local(a).extent(0), a.local_rows(), "local(array)");
    ranges::for_each(pgas::views::local(a), [&](auto&& cell) { cell = team.rank(); });
    ranges::for_each(pgas::views::local(line), [&](auto&& cell) { cell = team.rank() + 1; });
    {
      pgas::fence synchronize{a};
      pgas::fence too{line};
    }
    if constexpr (std::remove_cvref_t<decltype(a)>::state_type::is_direct) {
      for (auto piece : segments(a)) {
        auto const there = local(piece);
        for (std::size_t i = 0; i < there.extent(0); ++i)
          require_equal(there(i, 1), rank(piece), "another rank's cell");
      }
      for (auto piece : segments(line)) {
        for (int cell : local(piece)) require_equal(cell, rank(piece) + 1, "another rank's cell");
      }
    }
    team.barrier();
  });
}

TEST_CASE(
    "views: an array seen through a function keeps its segments' ranks and boxes, and their cells in order") {
  everywhere([](auto& team) {
    auto const a = make_array<int>(team, {5, 3}, halo{.width = 1});
    int const first = static_cast<int>(a.own_box().first[0]) * 3;
    auto const own = pgas::views::local(a);
    for (std::size_t k = 0; k < own.size(); ++k)
      own[static_cast<std::ptrdiff_t>(k)] = first + static_cast<int>(k);
    auto const twice = pgas::views::transform(a, [](int cell) { return 2 * cell; });
    auto const more = pgas::views::transform(twice, [](int value) { return value + 1; });
    int next = first;
    for (int value : local(more)) require_equal(value, 2 * next++ + 1, "own value");
    pgas::fence synchronize{a};
    rank_t r = 0;
    next = 0;
    for (auto piece : segments(more)) {
      require_equal(rank(piece), r, "rank");
      require_equal(piece.box().first, a.box_of(r).first, "first cell");
      require_equal(piece.size(), a.box_of(r).size(), "size");
      require_equal(piece.empty(), piece.size() == 0, "empty");
      require_equal(piece.is_own(), r == team.rank(), "is_own");
      if constexpr (std::remove_cvref_t<decltype(a)>::state_type::is_direct) {
        for (int value : local(piece)) require_equal(value, 2 * next++ + 1, "another rank's value");
        require_equal(next, static_cast<int>(3 * (piece.box().first[0] + piece.box().count[0])),
                      "values so far");
      }
      ++r;
    }
    require_equal(r, team.size(), "a piece for each rank");
    synchronize.close();
    team.barrier();
  });
}

TEST_CASE("views: segments of a grid of blocks in three dimensions name each rank's box") {
  everywhere<std::tuple<self_model, process_model, write_back_model>>([](auto& team) {
    auto const a = make_array<int>(team, {5, 4, 3}, pgas::tiled{pgas::block{}, pgas::block{}, pgas::whole{}},
                                   halo{.width = 1});
    {
      auto const own = pgas::stage(a, pgas::write_only);
      auto const view = own.view();
      for (std::size_t i = 0; i < view.extent(0); ++i) {
        for (std::size_t j = 0; j < view.extent(1); ++j) ranges::fill(view.row(i, j), team.rank());
      }
    }
    { pgas::fence synchronize{a}; }
    std::size_t cells_in_all = 0;
    for (auto piece : segments(a)) {
      cells_in_all += piece.size();
      if constexpr (std::remove_cvref_t<decltype(a)>::state_type::is_direct) {
        auto const there = local(piece);
        for (std::size_t i = 0; i < there.extent(0); ++i) {
          for (std::size_t j = 0; j < there.extent(1); ++j) {
            for (int const cell : there.row(i, j)) require_equal(cell, rank(piece), "another rank's cell");
          }
        }
      }
    }
    require_equal(cells_in_all, a.size(), "cells of all segments");
    team.barrier();
  });
}

TEST_CASE("views: own cells of three dimensions are one random access sequence") {
  everywhere<std::tuple<process_model, write_back_model>>([](auto& team) {
    auto const a = make_array<int>(team, {5, 4, 3}, pgas::tiled{pgas::block{}, pgas::whole{}, pgas::block{}},
                                   halo{.width = 1});
    auto const own = pgas::views::local(a);
    static_assert(ranges::random_access_range<decltype(own)> && ranges::sized_range<decltype(own)>);
    auto const size = static_cast<int>(a.own_box().size());
    require_equal(static_cast<int>(ranges::distance(own)), size, "size");
    ranges::copy(rv::iota(0, size), own.begin());
    int next = 0;
    auto const staged = pgas::stage(a, pgas::read_only);
    for (std::size_t i = 0; i < a.local_extents()[0]; ++i) {
      for (std::size_t j = 0; j < a.local_extents()[1]; ++j) {
        for (std::size_t k = 0; k < a.local_extents()[2]; ++k) require_equal(staged(i, j, k), next++, "cell");
      }
    }
    for (int k = 0; k < size; ++k) {
      require_equal(static_cast<int>(own.begin()[k]), k, "by index");
      require_equal(static_cast<int>(*(own.end() - (k + 1))), size - k - 1, "from the end");
    }
    for (int const value : own | rv::reverse) require_equal(value, --next, "backwards");
  });
}

TEST_CASE("views: interior, boundary and halo together have each cell of a part once") {
  everywhere<std::tuple<process_model, write_back_model>>([](auto& team) {
    auto const check = [&](auto const& a, std::size_t expected_interior) {
      auto const count = [](auto const& view) { return static_cast<std::size_t>(ranges::distance(view)); };
      require_equal(count(pgas::views::interior(a)), expected_interior, "interior");
      require_equal(count(pgas::views::interior(a)) + count(pgas::views::boundary(a)), a.own_box().size(),
                    "own cells");
      require_equal(count(pgas::views::halo(a)), pgas::all_cells(a).size() - a.own_box().size(),
                    "ghost cells");
      require_equal(pgas::views::halo(a).size(), count(pgas::views::halo(a)), "size()");
      for (auto&& cell : pgas::views::cells(a, pgas::all_cells(a))) cell = 0;
      for (auto&& cell : pgas::views::interior(a)) cell += 1;
      for (auto&& cell : pgas::views::boundary(a)) cell += 10;
      for (auto&& cell : pgas::views::halo(a)) cell += 100;
      int const own = static_cast<int>(a.own_box().size());
      int const interior = static_cast<int>(expected_interior);
      require_equal(ranges::accumulate(pgas::views::local(a), 0), interior + 10 * (own - interior),
                    "the own cells' sum");
      for (int const cell : pgas::views::cells(a, pgas::all_cells(a))) {
        require(cell == 1 || cell == 10 || cell == 100, "each cell is in one view");
      }
      require(ranges::equal(pgas::views::halo(a) | rv::transform([](int x) { return x; }),
                            std::vector<int>(count(pgas::views::halo(a)), 100)),
              "a pipeline reads the ghost cells");
    };
    // In a row of ranks, a rank has two neighbours or is its own; dimension 1 is not divided.
    auto const rows = make_array<int>(team, {20, 6}, halo{.width = 2, .edges = pgas::edge::periodic});
    auto const own_rows = rows.local_rows();
    check(rows, 6 * (team.size() == 1 ? own_rows : own_rows - std::min<std::size_t>(own_rows, 4)));
    auto const line = make_array<int>(team, 15, halo{.width = 2, .after = 1});
    check(line, team.size() == 1 ? 15 : line.local_rows() - std::min<std::size_t>(line.local_rows(), 3));
  });
}

TEST_CASE("views: owned_by and tiles name each cell once, on any layout") {
  everywhere<std::tuple<process_model>>([](auto& team) {
    auto const check = [&](auto const& a) {
      std::vector<int> seen(a.size());
      for (rank_t r = 0; r < team.size(); ++r) {
        for (auto const index : pgas::views::owned_by(a, r)) {
          require_equal(a.owner(index), r, "owner");
          ++seen[index[0] * a.extent(1) + index[1]];
        }
      }
      require(seen == std::vector<int>(a.size(), 1), "each cell has one owner");
      auto const sizes = pgas::views::tiles(a) | rv::transform([](auto const& tile) { return tile.size(); });
      require_equal(static_cast<std::ptrdiff_t>(ranges::accumulate(sizes, std::size_t{0})),
                    ranges::distance(pgas::views::owned_by(a, team.rank())), "cells of the tiles");
    };
    check(make_array<int>(team, {7, 5}));
    check(make_array<int>(team, {7, 5}, pgas::cyclic_tiles<2, 3>{}));
    check(make_array<int>(team, {7, 5}, pgas::tiled{pgas::block_cyclic<2>{}, pgas::cyclic{}}));
    require_error(errc::out_of_range, {"owned_by"}, [&] {
      static_cast<void>(pgas::views::owned_by(make_array<int>(team, {1, 1}), team.size()));
    });
  });
}

TEST_CASE("stage: cyclic tiles are plain memory, to write, to change and to read") {
  everywhere<std::tuple<process_model, write_back_model>>([](auto& team) {
    auto const check = [&](auto const& a) {
      auto const number = [&](auto const& tile, std::size_t i, std::size_t j) {
        return static_cast<int>((tile.cells().first[0] + i) * 100 + tile.cells().first[1] + j);
      };
      auto const for_each = [&](auto const& staged, auto const& use) {
        for (auto const& tile : staged) {
          auto const view = tile.view();
          static_assert(std::is_reference_v<decltype(view(0, 0))>, "plain memory");
          for (std::size_t i = 0; i < view.extent(0); ++i) {
            for (std::size_t j = 0; j < view.extent(1); ++j) use(view(i, j), number(tile, i, j));
          }
        }
      };
      for_each(pgas::stage(a, pgas::write_only), [](int& cell, int value) { cell = value; });
      for_each(pgas::stage(a, pgas::read_write), [](int& cell, int value) { cell += value % 2; });
      for_each(pgas::stage(a, pgas::read_only),
               [](int const& cell, int value) { require_equal(cell, value + value % 2, "cell"); });
      { pgas::fence synchronize{a}; }
      std::vector<int> all(a.size());
      pgas::fence epoch{a, pgas::read_only};
      epoch.get({{0, 0}, a.extents()}, all);
      epoch.close();
      for (std::size_t i = 0; i < a.extent(0); ++i) {
        for (std::size_t j = 0; j < a.extent(1); ++j) {
          int const value = static_cast<int>(i * 100 + j);
          require_equal(all[i * a.extent(1) + j], value + value % 2, "cell seen from any rank");
        }
      }
    };
    check(make_array<int>(team, {7, 5}, pgas::cyclic_tiles<2, 3>{}));
    check(make_array<int>(team, {9, 10}, pgas::cyclic_tiles<4, 4>{}.padded(64)));
  });
}
