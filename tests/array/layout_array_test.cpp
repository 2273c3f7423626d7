// SPDX-License-Identifier: BSL-1.0
// Arrays on any layout: cells, boxes, own parts, tiles and bad input, compared with arrays of one rank.
// test: addresses, unit array
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/stage.hpp>
#include <vector>

#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

/// Gets boxes from one array and puts them into another; each array has its own layout and extents.
template <std::size_t N, class Team, class... Rules>
void copy_boxes(Team& team, std::uint64_t seed, std::size_t largest, Rules const&... rules) {
  random_source same(seed);  // the same on every rank
  random_source own(seed + 1000 * static_cast<std::uint64_t>(team.rank() + 1));
  std::uint32_t name = 0;
  auto const make = [&](auto const& rule) {
    cell_index<N> extents;
    for (auto& e : extents) e = same.one_in(8) ? same.below(2) : 1 + same.below(largest);
    auto a = make_array<cell>(team, extents, rule);
    return doubled<decltype(a)>(std::move(a), name++);
  };
  std::tuple arrays{make(rules)...};
  auto const with = [&](std::size_t which, auto&& use) {
    std::apply([&, k = std::size_t{0}](auto&... each) mutable { ((k++ == which ? use(each) : void()), ...); },
               arrays);
  };
  std::apply([](auto&... each) { (static_cast<void>(pgas::fence{each.array}), ...); }, arrays);

  for (std::uint32_t round = 1; round <= 6; ++round) {
    std::size_t const from = same.below(sizeof...(Rules));
    std::size_t const to = same.below(sizeof...(Rules));
    rank_t const mover = same.rank_below(team.size());
    std::vector<cell> values;
    cell_index<N> shape{};
    with(from, [&](auto& source) {
      cell_index<N> both = source.array.extents();
      with(to, [&](auto& target) {
        for (std::size_t d = 0; d < N; ++d) both[d] = std::min(both[d], target.array.extent(d));
      });
      shape = some_box(same, both).count;
      box<N> b{{}, shape};
      for (std::size_t d = 0; d < N; ++d) b.first[d] = same.below(source.array.extent(d) - shape[d] + 1);
      values.resize(b.size());
      pgas::fence epoch{source.array, read_only};
      if (team.rank() == mover) epoch.get(b, values);
      epoch.close();
      for_each_cell(source.array.extents(), b, [&](std::size_t at_source, std::size_t k) {
        if (team.rank() == mover)
          require_equal(values[k], source.serial[at_source], "cell of a box that was got");
        values[k] = source.serial[at_source];
        values[k].round = round;
      });
    });
    with(to, [&](auto& target) {
      box<N> b{{}, shape};
      for (std::size_t d = 0; d < N; ++d) b.first[d] = same.below(target.array.extent(d) - shape[d] + 1);
      pgas::fence epoch{target.array};
      if (team.rank() == mover) epoch.put(b, values);
      epoch.next();
      for_each_cell(target.array.extents(), b,
                    [&](std::size_t k_serial, std::size_t k) { target.serial[k_serial] = values[k]; });
      auto const wanted = some_box(own, target.array.extents());
      std::vector<cell> seen(wanted.size());
      epoch.get(wanted, seen);
      epoch.close();
      for_each_cell(target.array.extents(), wanted, [&](std::size_t k_serial, std::size_t k) {
        require_equal(seen[k], target.serial[k_serial], "cell of an array after a box was put");
      });
    });
  }
  // At the end, each rank finds the expected cells in its own part, and through epochs in all parts.
  std::apply(
      [&](auto&... each) {
        auto const check = [&](auto& one) {
          if constexpr (matrix_layout<typename std::remove_cvref_t<decltype(one.array)>::layout_type>) {
            auto const view = one.array.local();
            auto const staged = stage(one.array, pgas::read_only);
            for_each_own(one.array, [&](cell_index<N> const& i, cell_index<N> const& global) {
              cell const now = at(view, i);
              require_equal(now, one.serial[number(one.array.extents(), global)], "own cell");
              require_equal(std::apply([&](auto... k) { return staged(k...); }, i), now, "own cell, staged");
            });
          }
          one.check();
          pgas::fence epoch{one.array, read_only};
          for (int k = 0; k < 5 && one.array.size() != 0; ++k) {
            cell_index<N> i;
            for (std::size_t d = 0; d < N; ++d) i[d] = own.below(one.array.extent(d));
            auto const p = one.array.at(i);
            require_equal(p.rank, one.array.owner(i), "rank of a cell's name");
            require_equal(epoch[p].load(), one.serial[number(one.array.extents(), i)], "a cell by name");
          }
        };
        (check(each), ...);
      },
      arrays);
}

}  // namespace

TEST_CASE("layouts: random boxes moved between arrays of one dimension equal those of serial arrays") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      copy_boxes<1>(team, seed, 300, block{}, cyclic{}, block_cyclic<4>{},
                    tiled{block_cyclic<>{seed + 1}}.padded(64), single_owner{team.size() - 1},
                    cyclic_tiles<5>{}.padded(64));
    }
  });
}

TEST_CASE("layouts: random boxes moved between arrays of two dimensions equal those of serial arrays") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 11; seed <= 14; ++seed) {
      copy_boxes<2>(team, seed, 22, by_rows<2>{}, tiled{block{}, block{}}.on(grid{1, 0}),
                    tiled{block_cyclic<2>{}, block_cyclic<3>{}}.padded(64), cyclic_tiles<2, 3>{});
    }
  });
}

TEST_CASE("layouts: random boxes moved between arrays of three dimensions equal those of serial arrays") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 21; seed <= 24; ++seed) {
      copy_boxes<3>(team, seed, 7, by_rows<3>{}, tiled{block{}, block_cyclic<2>{}, block{}}.padded(32),
                    cyclic_tiles<2, 3, 2>{});
    }
  });
}

TEST_CASE("layouts: random boxes moved between arrays of four dimensions equal those of serial arrays") {
  everywhere<few_models>([](auto& team) {
    for (std::uint64_t seed = 31; seed <= 33; ++seed) {
      copy_boxes<4>(team, seed, 5, by_rows<4>{}, tiled{cyclic{}, block{}, block_cyclic<2>{}, block{}});
    }
  });
}

TEST_CASE("layouts: blocks of rows of any sizes, also none, have the requested owners") {
  everywhere<few_models>([](auto& team) {
    std::vector<std::size_t> sizes;
    for (rank_t r = 0; r < team.size(); ++r) sizes.push_back(static_cast<std::size_t>(r * 5 % 4));
    irregular const rows(sizes);
    auto const a = make_array<int>(team, {rows.extent(), 3}, tiled{rows, whole{}}, halo{.width = 1});
    require_equal(a.local_rows(), sizes[static_cast<std::size_t>(team.rank())], "own rows");
    require_equal(a.local().size(), 3 * a.local_rows(), "own cells");
    for_each_own(
        a, [&](auto const& i, auto const& global) { require_equal(global[0], a.first_row() + i[0], "row"); });
    require_error(errc::invalid_argument, {"make_array", "dimension 0", "one size for each rank"}, [&] {
      return make_array<int>(team, {rows.extent() + 1, 3}, tiled{rows, whole{}});
    });
  });
}

TEST_CASE(
    "layouts: padded rows and tiles start on lines of memory, and a tile's leading dimension is its pitch") {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto const on_line = [](auto* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; };
    auto const a = make_array<float>(team, {9, 21}, tiled{block{}, block{}}.padded(64), halo{.width = 1});
    auto const own = a.local();
    for (std::size_t i = 0; i < own.extent(0); ++i) require(on_line(&own(i, 0)), "a row starts on a line");
    require_equal(own.stride(0) % 16, std::ptrdiff_t{0}, "floats between rows");
    require(own.stride(0) >= static_cast<std::ptrdiff_t>(own.extent(1)) + 2, "ghost cells have room");

    auto const tiles_apart = make_array<double>(team, {10, 10}, cyclic_tiles<3, 3>{}.padded(64));
    for (auto const tile : tiles(tiles_apart)) {
      require(on_line(tile.view().data_handle()), "a tile starts on a line");
      require_equal(tile.view().stride(0), std::ptrdiff_t{3}, "leading dimension of a contiguous tile");
    }
    auto const tiles_beside = make_array<double>(team, {10, 10}, tiled{block_cyclic<2>{}, block_cyclic<2>{}});
    for (auto const tile : tiles(tiles_beside)) {
      require_equal(tile.view().stride(0), static_cast<std::ptrdiff_t>(tiles_beside.local_extents()[1]),
                    "leading dimension of a tile beside others");
    }
  });
}

TEST_CASE(
    "layouts: long rows between ghost cells start on lines of memory, and short rows lie close together") {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto const on_line = [](auto* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; };
    auto const check = [&](auto const& a) {
      auto const own = a.local();
      for (std::size_t i = 0; i < own.extent(0); ++i) require(on_line(&own(i, 0)), "a row starts on a line");
      auto const cells = static_cast<std::ptrdiff_t>(own.extent(1)) + 2;
      require(own.stride(0) >= cells, "ghost cells have room");
      require(own.stride(0) < cells + cells / 8, "a row is not much longer than its cells");
    };
    check(make_array<double>(team, {8, 128}, halo{.width = 1}));
    check(make_array<float>(team, {8, 1001}, tiled{block{}, block{}}, halo{.width = 1}));
    auto const is_close = [](auto const& a, std::ptrdiff_t cells) {
      require_equal(a.local().stride(0), cells, "elements between the beginnings of rows");
    };
    is_close(make_array<double>(team, {8, 127}, halo{.width = 1}), 129);
    is_close(make_array<double>(team, {8, 1001}), 1001);  // rows lie side by side
    is_close(
        make_array<double>(team, {8, 1001}, tiled{block{}, whole{}}, {halo{.width = 1}, halo{.width = 0}}),
        1001);
  });
}

TEST_CASE("layouts: a halo lies around the own cells of a grid of blocks, and around no other layout's") {
  everywhere<few_models>([](auto& team) {
    auto const a =
        make_array<int>(team, {5, 6, 4}, tiled{block{}, block{}, block{}},
                        {halo{.width = 1}, halo{.width = 2, .after = 0}, halo{.width = 0, .after = 3}});
    {
      auto const all = stage(a.window(), pgas::read_write);
      std::fill(all.begin(), all.end(), -1);
    }
    {
      auto const cells = stage(a, pgas::write_only);
      for_each_own(a, [&](auto const& i, auto const& g) {
        cells(i[0], i[1], i[2]) = static_cast<int>(g[0] * 100 + g[1] * 10 + g[2]);
      });
    }
    auto const own = a.local_extents();
    if (a.own_box().size() == 0) return require_equal(a.window().size(), std::size_t{0}, "no cells, no part");
    require_equal(a.window().size(), (own[0] + 2) * (own[1] + 2) * (own[2] + 3), "elements of a part");
    auto const seen = stage(a, pgas::read_only);
    int ghosts = 0;
    for (std::ptrdiff_t i = -1; i <= static_cast<std::ptrdiff_t>(own[0]); ++i) {
      for (std::ptrdiff_t j = -2; j < static_cast<std::ptrdiff_t>(own[1]); ++j) {
        for (std::ptrdiff_t k = 0; k < static_cast<std::ptrdiff_t>(own[2]) + 3; ++k) {
          bool const inside = i >= 0 && i < static_cast<std::ptrdiff_t>(own[0]) && j >= 0 &&
                              k < static_cast<std::ptrdiff_t>(own[2]);
          ghosts += inside ? 0 : 1;
          auto const first = a.own_box().first;
          require_equal(seen(i, j, k),
                        inside ? static_cast<int>((first[0] + static_cast<std::size_t>(i)) * 100 +
                                                  (first[1] + static_cast<std::size_t>(j)) * 10 + first[2] +
                                                  static_cast<std::size_t>(k))
                               : -1,
                        "cell of a part");
        }
      }
    }
    require_equal(static_cast<std::size_t>(ghosts) + a.own_box().size(), a.window().size(), "ghost cells");
  });
}

TEST_CASE("layouts: an impossible layout is refused on every rank, with both sides of the contradiction") {
  everywhere<few_models>([](auto& team) {
    auto const ranks = team.size();
    std::string const self = "rank " + std::to_string(team.rank());
    require_error(
        errc::invalid_argument,
        {self, "make_array", "4 x 5", "a grid of 64 x 0 needs more than the " + std::to_string(ranks)}, [&] {
          return make_array<int>(team, {4, 5}, tiled{block{}, block{}}.on(grid{64, 0}));
        });
    require_error(errc::invalid_argument, {self, "dimension 1", "blocks of 0"}, [&] {
      return make_array<int>(team, {4, 5}, tiled{block{}, block_cyclic<>{0}});
    });
    require_error(errc::invalid_argument, {self, "rank " + std::to_string(ranks), "own all"},
                  [&] { return make_array<int>(team, 5, single_owner{ranks}); });
    require_error(errc::invalid_argument, {self, "no ghost cells", "each rank owns one box"}, [&] {
      return make_array<int>(team, {4, 5}, tiled{block{}, cyclic{}}, halo{.width = 1});
    });
    constexpr std::size_t most = ~std::size_t{0};
    require_error(errc::no_space, {self, "more bytes"}, [&] {
      return make_array<int>(team, {most / 16, 3, 2}, cyclic_tiles<4, 4, 4>{});
    });
    if (ranks > 1) {
      bool const other = team.rank() == ranks - 1;
      std::string const last = "rank " + std::to_string(ranks - 1);
      require_error(errc::mismatch,
                    {self, last + " makes an array of 9", "block_cyclic(3)", "block_cyclic(2)"},
                    [&] { return make_array<int>(team, 9, block_cyclic<>{other ? 3U : 2U}); });
      require_error(errc::mismatch, {self, last, "cyclic_tiles(2 x 2)", "rank 0 one of 4 x 5"}, [&] {
        if (other) return static_cast<void>(make_array<int>(team, {4, 5}, cyclic_tiles<2, 2>{}));
        static_cast<void>(make_array<int>(team, {4, 5}));
      });
      require_error(errc::mismatch, {self, last + " makes an array of 3 dimensions", "of 2 dimensions"}, [&] {
        if (other) return static_cast<void>(make_array<int>(team, {4, 5, 1}));
        static_cast<void>(make_array<int>(team, {4, 5}));
      });
    }
    auto const a = make_array<int>(team, {4, 5, 6}, cyclic_tiles<2, 2, 2>{});
    require_error(errc::out_of_range, {self, "at", "cell (3, 5, 0)", "4 x 5 x 6"},
                  [&] { return a.at(3, 5, 0); });
    pgas::fence epoch{a};
    std::vector<int> values(8);
    require_error(errc::out_of_range, {self, "put", "2 x 2 x 2 cells do not fit at (0, 4, 0)"}, [&] {
      epoch.put({{0, 4, 0}, {2, 2, 2}}, values);
    });
    require_error(errc::invalid_argument, {self, "get", "8 values given for 4 cells"}, [&] {
      epoch.get({{0, 4, 0}, {2, 1, 2}}, values);
    });
  });
}
