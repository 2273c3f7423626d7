// SPDX-License-Identifier: BSL-1.0
// Transposed arrays equal those that one rank transposes, for any layouts of both.
// test: unit algorithm
#include <algorithm>
#include <cstring>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/transpose.hpp>
#include <pgas/array/visit_box.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <span>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

constexpr std::initializer_list<rank_t> on_one_to_five{1, 2, 3, 4, 5};

/// Stores to each cell its number.
template <class Array>
void number_cells(Array const& a) {
  for_each_index(a, [&](auto const& i, cell& c) {
    c = {7, static_cast<std::uint32_t>(number(a.extents(), i)), 0};
  });
}

/// Requires that each own cell of an array has the number of the cell that belongs there.
template <class From, class To>
void require_transposed(From const& from, To const& to, permutation<From::dimensions> const& axes) {
  for_each_index(to, [&](auto const& i, cell& c) {
    cell_index<From::dimensions> j{};
    for (std::size_t d = 0; d < j.size(); ++d) j[axes[d]] = i[d];
    require_equal(c, cell{7, static_cast<std::uint32_t>(number(from.extents(), j)), 0},
                  "cell (" + pgas::detail::joined(i, ", ") + ") in order (" +
                      pgas::detail::joined(axes, ", ") + ") from " + from.layout().describe() + " to " +
                      to.layout().describe());
  });
}

template <class Team, class FromRule, class ToRule>
void check(Team& team, cell_index<2> const& extents, FromRule const& from_rule, ToRule const& to_rule,
           halos<2> const& around = {}) {
  auto const from = make_array<cell>(team, extents, from_rule);
  auto const to = make_array<cell>(team, {extents[1], extents[0]}, to_rule, around);
  number_cells(from);
  transpose(from, to);
  require_transposed(from, to, {1, 0});
}

/// Planes of random sizes and pitches, in memory that is full of other bytes.
template <class T>
void check_planes(random_source& rng) {
  for (int round = 0; round < 60; ++round) {
    std::size_t const rows =
        1 + rng.below(round % 10 == 0 ? 700 : 150);  // some larger than one step of the transpose
    std::size_t const cols = 1 + rng.below(round % 10 == 5 ? 700 : 150);
    std::size_t const from_pitch = cols + rng.below(9);
    std::size_t const to_pitch =
        rng.one_in(2) ? (rows + 63) / 64 * 64 : rows + rng.below(9);  // whole lines, or not
    std::size_t const first = rng.below(70);
    std::vector<T> from(rows * from_pitch);
    for (auto& byte : std::as_writable_bytes(std::span(from))) byte = static_cast<std::byte>(rng());
    std::vector<T> to(first + cols * to_pitch);
    for (auto& byte : std::as_writable_bytes(std::span(to))) byte = static_cast<std::byte>(rng());
    auto expected = to;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) expected[first + j * to_pitch + i] = from[i * from_pitch + j];
    }
    pgas::detail::transpose_plane(from.data(), from_pitch, to.data() + first, to_pitch, rows, cols,
                                  rng.one_in(2));
    pgas::detail::end_streaming();
    CHECK(std::memcmp(to.data(), expected.data(), to.size() * sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("transpose: it transposes a matrix between any two layouts") {
  everywhere<few_models>(
      [](auto& team) {
        // Blocks that fit a cache are smaller than the largest of these.
        for (auto const& extents : {cell_index<2>{0, 3}, {1, 1}, {1, 6}, {7, 9}, {37, 70}}) {
          check(team, extents, by_rows<2>{}, by_rows<2>{}, halo{.width = 1});
          check(team, extents, by_rows<2>{}, cyclic_tiles<5, 3>{});
          check(team, extents, tiled{block_cyclic<2>{}, block_cyclic<3>{}}.padded(64), by_rows<2>{});
        }
      },
      on_one_to_five);
}

TEST_CASE("transpose: it permutes three dimensions in any order, and swaps any two") {
  everywhere<few_models>(
      [](auto& team) {
        cell_index<3> const extents{4, 5, 6};
        auto const from = make_array<cell>(team, extents, cyclic_tiles<2, 3, 4>{});
        number_cells(from);
        permutation<3> axes{0, 1, 2};
        do {
          auto const to = make_array<cell>(team, pgas::detail::permuted(extents, axes));
          transpose(from, to, axes);
          require_transposed(from, to, axes);
        } while (std::next_permutation(axes.begin(), axes.end()));
        auto const to = make_array<cell>(team, {6, 5, 4});
        transpose<0, 2>(from, to);
        require_transposed(from, to, {2, 1, 0});
      },
      on_one_to_five);
}

TEST_CASE("transpose: other ranks see the result in the next epoch, and the source may change at once") {
  everywhere<few_models>([](auto& team) {
    auto const a = make_array<int>(team, {6, 8});
    auto const b = make_array<int>(team, {8, 6});
    iota(a, 0);
    transpose(a, b);
    fill(a, -1);
    std::vector<int> all(b.size());
    pgas::fence epoch{b, read_only};
    epoch.get({{}, b.extents()}, all);
    epoch.close();
    for (std::size_t k = 0; k < all.size(); ++k) {
      require_equal(all[k], static_cast<int>(k % 6 * 8 + k / 6), "cell " + std::to_string(k));
    }
  });
}

TEST_CASE(
    "transpose: it moves a plane at any place in memory, through the caches and past them, and nothing "
    "beside it") {
  random_source rng(3);
  check_planes<std::uint8_t>(rng);
  check_planes<float>(rng);
  check_planes<double>(rng);
  check_planes<std::array<std::uint32_t, 3>>(rng);
  check_planes<std::array<double, 2>>(rng);
  check_planes<std::array<std::uint64_t, 9>>(rng);
}

TEST_CASE("transpose: pieces of a large tile are fetched one after the other") {
  box<2> const whole{{3, 5}, {30, 50}};
  std::vector<int> times(40 * 60);
  pgas::detail::for_each_piece(whole, 64, [&](box<2> const& piece) {
    CHECK(piece.size() <= 64);
    CHECK(piece.size() > 0);
    for_each_cell<2>({40, 60}, piece, [&](std::size_t k, std::size_t) { ++times[k]; });
  });
  for_each_cell<2>({40, 60}, whole, [&](std::size_t k, std::size_t) { --times[k]; });
  CHECK(std::count(times.begin(), times.end(), 0) == 40 * 60);
}

TEST_CASE("visit_box: it visits each cell of a box once, for any owner, and refuses boxes that do not fit") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<cell>(team, {37, 70}, cyclic_tiles<5, 3>{});
        number_cells(a);
        box<2> const wanted{{2, 4}, {33, 61}};
        std::vector<int> times(37 * 70);
        pgas::fence epoch{a, read_only};
        visit_box(epoch, wanted, [&](box<2> const& piece, matrix_view<cell const> cells) {
          require_equal(piece.size(), cells.size(), "cells of a piece");
          for_each_cell<2>({37, 70}, piece, [&](std::size_t k, std::size_t in_piece) {
            ++times[k];
            require_equal(cells(in_piece / piece.count[1], in_piece % piece.count[1]),
                          cell{7, static_cast<std::uint32_t>(k), 0}, "cell " + std::to_string(k));
          });
        });
        for_each_cell<2>({37, 70}, wanted, [&](std::size_t k, std::size_t) { --times[k]; });
        require(std::count(times.begin(), times.end(), 0) == 37 * 70,
                "each cell of the box is visited once, and no other");
        require_error(errc::out_of_range, {"visit_box", "2 x 1 cells do not fit at (36, 0)", "37 x 70"}, [&] {
          visit_box(epoch, {{36, 0}, {2, 1}}, [](auto const&, auto const&) {});
        });
        epoch.close();
      },
      {1, 3});
}

TEST_CASE("transpose: arrays that do not fit are refused with both extents") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {6, 5}, cyclic_tiles<2, 2>{});
        auto const b = make_array<int>(team, {6, 5});
        auto const c = make_array<int>(team, {5, 5});
        std::string const self = "rank " + std::to_string(team.rank());
        require_error(errc::invalid_argument,
                      {self, "transpose", "6 x 5", "order (1, 0)", "5 x 6", "fit one of 6 x 5"},
                      [&] { transpose(a, b); });
        require_error(errc::invalid_argument, {self, "transpose", "(1, 1) is no order of 2 dimensions"}, [&] {
          transpose(a, b, {1, 1});
        });
        require_error(errc::invalid_argument, {self, "transpose", "both arrays are one"},
                      [&] { transpose(c, c); });
        team.barrier();
      },
      {1, 3});
}
