// SPDX-License-Identifier: BSL-1.0
// Stencils with offsets known at compile time equal a serial run on a padded array. The exchange runs at the
// same time, and several steps share an exchange. Grids of ranks; fixed, periodic and reflecting edges; any
// widths.
// test: addresses, unit halo
#include <pgas/algorithm/for_each.hpp>
#include <pgas/stencil.hpp>
#include <vector>

#include "support/padded_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

using number_type = std::uint32_t;

// Each neighbour has its own weight, so that none can stand for another. Unsigned numbers wrap around, so all
// are exact.
constexpr auto kernel = [](auto... neighbours) {
  number_type sum = 1;
  ((sum = sum * 31 + neighbours), ...);
  return sum;
};

template <std::size_t N>
number_type start_value(place<N> const& at) {
  number_type value = 7;
  for (index_t i : at) value = value * 131 + static_cast<number_type>(i + 40);
  return value;
}

/// All cells of an array on one rank.
template <class Array>
class serial_cells {
 public:
  static constexpr std::size_t N = Array::dimensions;

  explicit serial_cells(Array const& a) : array_(&a), cells_(a.size()), next_(a.size()) {
    for_each([&](std::size_t k, place<N> const& at) { cells_[k] = start_value(at); });
  }
  /// Returns the value at a place of the padded array.
  [[nodiscard]] number_type operator()(place<N> const& at) const {
    auto const [seen, within] = image_in(*array_, at);
    return within ? cells_[number_at(seen)] : start_value(seen);
  }
  template <class... Offsets>
  void step(stencil<Offsets...>) {
    for_each([&](std::size_t k, place<N> const& at) {
      auto const neighbour = [&](auto const& steps) {
        place<N> there = at;
        for (std::size_t d = 0; d < N; ++d) there[d] += steps[d];
        return (*this)(there);
      };
      next_[k] = kernel(neighbour(Offsets::steps)...);
    });
    std::swap(cells_, next_);
  }

 private:
  std::size_t number_at(place<N> const& at) const {
    cell_index<N> index;
    for (std::size_t d = 0; d < N; ++d) index[d] = static_cast<std::size_t>(at[d]);
    return number(array_->extents(), index);
  }
  template <class Use>
  void for_each(Use&& use) const {
    for_each_cell(array_->extents(), box<N>{{}, array_->extents()}, [&](std::size_t k, std::size_t rest) {
      place<N> at;
      for (std::size_t d = N; d-- > 0; rest /= array_->extent(d))
        at[d] = static_cast<index_t>(rest % array_->extent(d));
      use(k, at);
    });
  }

  Array const* array_;
  std::vector<number_type> cells_;
  std::vector<number_type> next_;
};

template <class Array>
void check_own(Array const& a, serial_cells<Array> const& serial, int round) {
  auto const cells = stage(a, pgas::read_only);
  for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
    if (ghosts == 0 && std::apply(cells, local) != serial(global)) {
      require_equal(std::apply(cells, local), serial(global),
                    cell_text(a, global) + ", round " + std::to_string(round));
    }
  });
}

/// True if the array has all cells that the stencil sees in its mirrors.
template <class Stencil, class Array>
bool fits_mirrors(Array const& a) {
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    bool const has_mirror = a.shape().halo(d).edges == edge::reflecting;
    if (has_mirror && a.extent(d) < std::max(Stencil::before[d], Stencil::after[d])) return false;
  }
  return true;
}

/// Rounds of one step, then rounds of several. `deepest` halos are that many times as wide as the stencil.
template <class Stencil, class Team, class Rule>
void check_random(Team& team, std::uint64_t seed, std::size_t largest, std::size_t deepest,
                  Rule const& rule) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int array = 0; array < 4; ++array) {
    auto const extents = some_extents<N>(same, largest);
    std::size_t const depth = 1 + same.below(deepest);
    std::array<halo_range, N> ranges;
    for (std::size_t d = 0; d < N; ++d) {
      std::size_t const before = depth * Stencil::before[d];
      std::size_t const after = depth * Stencil::after[d];
      ranges[d] = {std::max(before, after) + same.below(2), before, after};
    }
    auto around = some_halos(same, ranges);
    if (depth == 1 && !Stencil::is_diagonal && same.one_in(2)) around = around.without_corners();
    auto const places = some_places(same, rule, extents, team.size());
    auto now = make_array<number_type>(team, extents, places, around);
    auto next = make_array<number_type>(team, extents, places, around);
    serial_cells<std::remove_const_t<decltype(now)>> serial(now);
    for (auto* a : {&now, &next}) {
      set_edges(*a, [&](auto... at) { return serial(place<N>{at...}); });
    }
    {
      auto const cells = stage(now, pgas::write_only);
      for_each_in_part(now, [&](auto const& local, auto const& global, int ghosts) {
        if (ghosts == 0) std::apply(cells, local) = serial(global);
      });
    }
    for (int round = 0; round < 3; ++round) {
      Stencil::apply(now, next, kernel);
      std::swap(now, next);
      serial.step(Stencil{});
      check_own(now, serial, round);
    }
    require(Stencil::steps(now) >= depth, "the halo is wide enough");
    for (int round = 3; round < 6 && depth > 1; ++round) {
      std::size_t const steps = fits_mirrors<Stencil>(now) ? 1 + same.below(depth) : 1;
      Stencil::apply_steps(now, next, steps, kernel);
      for (std::size_t step = 0; step < steps; ++step) serial.step(Stencil{});
      check_own(now, serial, round);
    }
  }
}

/// Two fields that depend on each other take one sweep. Each is the result for one field plus a cell of the
/// other.
template <class Stencil, class Team, class Rule>
void check_two_fields(Team& team, std::uint64_t seed, std::size_t largest, Rule const& rule) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int array = 0; array < 4; ++array) {
    auto const extents = some_extents<N>(same, largest);
    std::array<halo_range, N> ranges;
    for (std::size_t d = 0; d < N; ++d)
      ranges[d] = {2 + same.below(2), Stencil::before[d], Stencil::after[d]};
    auto const around = some_halos(same, ranges);
    auto const places = some_places(same, rule, extents, team.size());
    auto u = make_array<number_type>(team, extents, places, around);
    auto v = make_array<std::uint64_t>(team, extents, places, around);
    auto next_u = make_array<number_type>(team, extents, places);
    auto next_v = make_array<std::uint64_t>(team, extents, places.padded(128), around);
    auto const alone_u = make_array<number_type>(team, extents, places);
    auto const alone_v = make_array<std::uint64_t>(team, extents, places);
    set_edges(u, [](auto... at) { return start_value(place<N>{at...}); });
    set_edges(v, [](auto... at) { return start_value(place<N>{at...}) + 5U; });
    for_each_index(
        u, [](auto const& at, number_type& cell) { cell = static_cast<number_type>(at[0] * 7 + at.back()); });
    for_each_index(v, [](auto const& at, std::uint64_t& cell) { cell = at[0] + at.back() * 11; });
    Stencil::apply(u, alone_u, [](auto... cells) { return kernel(static_cast<number_type>(cells)...); });
    Stencil::apply(v, alone_v, [](auto... cells) { return kernel(static_cast<number_type>(cells)...); });
    auto const both = [](auto const& of_u, auto const& of_v) {
      static_assert(std::is_same_v<decltype(of_u), std::array<number_type, Stencil::offsets> const&>);
      static_assert(std::is_same_v<decltype(of_v), std::array<std::uint64_t, Stencil::offsets> const&>);
      auto const one = [](auto const& cells) {
        return std::apply([](auto... cell) { return kernel(static_cast<number_type>(cell)...); }, cells);
      };
      return std::tuple{one(of_u) + of_v[0], one(of_v) * std::uint64_t{3} + of_u[0]};
    };
    Stencil::apply(std::tie(u, v), std::tie(next_u, next_v), both);
    auto const again_u = make_array<number_type>(team, extents, places);
    Stencil::apply(std::tie(u), std::tie(again_u), [](auto const& cells) {
      return std::tuple{
          std::apply([](auto... cell) { return kernel(static_cast<number_type>(cell)...); }, cells)};
    });
    auto const now_u = stage(u, pgas::read_only);
    auto const now_v = stage(v, pgas::read_only);
    auto const then_u = stage(next_u, pgas::read_only);
    auto const then_v = stage(next_v, pgas::read_only);
    auto const one_u = stage(alone_u, pgas::read_only);
    auto const one_v = stage(alone_v, pgas::read_only);
    auto const same_u = stage(again_u, pgas::read_only);
    for_each_in_part(u, [&](auto const& local, auto const& global, int ghosts) {
      if (ghosts != 0) return;
      auto const at = [&](auto const& cells) { return std::apply(cells, local); };
      require_equal(at(same_u), at(one_u), cell_text(u, global));
      require_equal(at(then_u), static_cast<number_type>(at(one_u) + at(now_v)), cell_text(u, global));
      require_equal(at(then_v), at(one_v) * std::uint64_t{3} + at(now_u), cell_text(u, global));
    });
  }
}

using line = stencil<offset<0>, offset<-2>, offset<1>>;
using plus = stencil<offset<0, 0>, offset<-1, 0>, offset<1, 0>, offset<0, -1>, offset<0, 1>>;
using from_here = stencil<offset<0, 0>, offset<1, -1>, offset<-1, 0>>;
using knight = stencil<offset<-1, 2>, offset<0, 0>, offset<1, -1>>;
using space = stencil<offset<0, 0, 0>, offset<-1, 0, 0>, offset<1, 0, 0>, offset<0, -1, 0>, offset<0, 1, 0>,
                      offset<0, 0, -1>, offset<0, 0, 1>>;
using time_and_space = stencil<offset<0, 0, 0, 0>, offset<-1, 0, 0, 1>, offset<0, 1, -1, 0>>;

static_assert(line::before == std::array<std::size_t, 1>{2} && line::after == std::array<std::size_t, 1>{1});
static_assert(knight::before == std::array<std::size_t, 2>{1, 1} &&
              knight::after == std::array<std::size_t, 2>{1, 2});
static_assert(knight::is_diagonal && !plus::is_diagonal && !space::is_diagonal &&
              time_and_space::is_diagonal);

using one_of_each = std::tuple<process_model, write_back_model>;

}  // namespace

TEST_CASE("part_box: at most two boxes a dimension cover the surroundings of a box, each cell once") {
  random_source rng(1);
  for (int round = 0; round < 400; ++round) {
    part_box<3> all;
    part_box<3> inner;
    for (std::size_t d = 0; d < 3; ++d) {
      all.first[d] = static_cast<index_t>(rng.below(4)) - 2;
      all.end[d] = all.first[d] + static_cast<index_t>(rng.below(5));
      auto const room = static_cast<std::size_t>(all.end[d] - all.first[d]);
      inner.first[d] = all.first[d] + static_cast<index_t>(rng.below(room + 1));
      inner.end[d] =
          inner.first[d] +
          static_cast<index_t>(rng.below(static_cast<std::size_t>(all.end[d] - inner.first[d]) + 1));
    }
    std::size_t boxes = 0;
    std::size_t cells = 0;
    std::vector<part_box<3>> seen;
    for_each_around(all, inner, [&](part_box<3> const& b) {
      CHECK_FALSE(b.empty());
      CHECK(intersection(b, all) == b);
      CHECK(intersection(b, inner).empty());
      for (auto const& other : seen) CHECK(intersection(b, other).empty());
      seen.push_back(b);
      cells += b.size();
      ++boxes;
    });
    CHECK(boxes <= 6);
    CHECK(cells == all.size() - inner.size());
  }
}

TEST_CASE("stencil: any offsets in one dimension and two equal a serial run") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          check_random<line>(team, seed, 14, 3, by_rows<1>{});
          check_random<knight>(team, seed + 100, 9, 3, tiled<block, block>{});
        }
      },
      {1, 2, 3, 4, 6});
}

TEST_CASE(
    "stencil: without diagonals and with undivided rows, it equals a serial run, with and without corners") {
  everywhere<one_of_each>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          check_random<plus>(team, seed + 200, 9, 3, tiled<block, block>{});
          check_random<plus>(team, seed + 300, 9, 3, by_rows<2>{});
        }
      },
      {1, 2, 4, 5});
}

TEST_CASE("stencil: three dimensions and four equal a serial run") {
  everywhere<one_of_each>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
          check_random<space>(team, seed + 400, 6, 2, tiled<block, block, block>{});
          check_random<time_and_space>(team, seed + 500, 4, 2, tiled<block, whole, block, block>{});
        }
      },
      {1, 2, 6});
}

TEST_CASE("stencil: the emulated chip, which sees every race and every stale copy, reports none") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
          check_random<knight>(team, seed + 600, 9, 2, tiled<block, block>{});
        }
      },
      {1, 2, 4, 6});
}

TEST_CASE("stencil: two fields in one sweep equal two sweeps of one field") {
  everywhere<std::tuple<process_model, write_back_model, scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
          check_two_fields<line>(team, seed + 700, 14, by_rows<1>{});
          check_two_fields<from_here>(team, seed + 800, 9, tiled<block, block>{});
        }
      },
      {1, 2, 4, 6});
}

TEST_CASE("stencil: in three dimensions, two fields in one sweep equal two sweeps of one field") {
  everywhere<std::tuple<process_model, write_back_model>>(
      [](auto& team) { check_two_fields<space>(team, 900, 5, tiled<block, block, block>{}); }, {1, 2, 6});
}

TEST_CASE("stencil: wide registers give each cell the value that the loop of a program gives it") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        auto const rule = tiled<block, block, block>{};
        halos<3> const around{halo{.width = 1, .edges = edge::periodic}};
        auto const weigh = [](auto const... u) {
          double sum = 0;
          ((sum = 0.3 * u - sum / 7), ...);
          return sum;
        };
        for (std::size_t const cols : {1U, 3U, 4U, 7U, 33U}) {
          auto const make = [&] { return make_array<double>(team, {5, 4, cols}, rule, around); };
          auto const from = make();
          for_each_index(from, [](auto const& at, double& cell) {
            cell = 1 / (1.1 + static_cast<double>(at[0] * 97 + at[1] * 31 + at[2]));
          });
          auto const once = make();
          auto const again = make();
          auto const both = make();
          team.barrier();
          space::apply(from, once, weigh);
          space::apply(std::tie(from), std::tie(both),
                       [&](auto const& u) { return std::tuple{std::apply(weigh, u)}; });
          auto const in = stage(from, read_only);
          auto const expected = stage(again, write_only);
          space::sweep(in.view(), expected.view(), own_cells(from), weigh);
          auto const check = [&](auto const& array) {
            auto const out = stage(array, read_only);
            auto const counts = own_cells(from).counts();
            for (std::size_t i = 0; i < counts[0]; ++i)
              for (std::size_t j = 0; j < counts[1]; ++j)
                for (std::size_t k = 0; k < counts[2]; ++k) REQUIRE(out(i, j, k) == expected(i, j, k));
          };
          check(once);
          check(both);
        }
      },
      {1, 2, 4});
}

TEST_CASE("stencil: fields that do not fit together are refused with the reason") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        halo const one{.width = 1};
        auto const rule = tiled<block, block>{};
        auto const u = make_array<number_type>(team, {8, 8}, rule, one);
        auto const v = make_array<number_type>(team, {8, 8}, rule, one);
        auto const next = make_array<number_type>(team, {8, 8}, rule, one);
        auto const narrow = make_array<number_type>(team, {8, 8}, rule);
        auto const small = make_array<number_type>(team, {6, 8}, rule, one);
        auto const both = [](auto const& x, auto const& y) { return std::tuple{x[0], y[0]}; };
        auto const refuses = [&](char const* fragment, auto const& from, auto const& to) {
          require_error(errc::invalid_argument, {fragment}, [&] { plus::apply(from, to, both); });
        };
        refuses("the two arrays are one", std::tie(u, v), std::tie(next, u));
        refuses("named twice among the results", std::tie(u, v), std::tie(next, next));
        refuses("given twice", std::tie(u, u), std::tie(next, v));
        refuses("too few ghost cells", std::tie(u, narrow), std::tie(next, v));
        refuses("other cells", std::tie(u, v), std::tie(next, small));
        plus::apply(std::tie(u, v), std::tie(next, narrow), both);
      },
      {1, 4});
}

TEST_CASE("stencil: arrays that do not fit the stencil are refused with the reason") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        halo const one{.width = 1, .edges = edge::periodic};
        auto const rule = tiled<block, block>{};
        auto const a = make_array<number_type>(team, {8, 8}, rule, one);
        auto const other = make_array<number_type>(team, {8, 8}, rule.on(grid{0, 1}), one);
        auto const bare = make_array<number_type>(team, {8, 8}, rule, halos<2>(one).without_corners());
        auto mirror =
            make_array<number_type>(team, {8, 8}, rule, halo{.width = 4, .edges = edge::reflecting});
        auto second =
            make_array<number_type>(team, {8, 8}, rule, halo{.width = 4, .edges = edge::reflecting});
        require_error(errc::invalid_argument, {"are one"}, [&] { plus::apply(a, a, kernel); });
        require_error(errc::invalid_argument, {"too few ghost cells", "wider"},
                      [&] { knight::apply(a, mirror, kernel); });
        require_error(errc::invalid_argument, {"corners"},
                      [&] { stencil<offset<-1, -1>>::apply(bare, a, kernel); });
        require_error(errc::invalid_argument,
                      {"8 x 8 with halo 4 x 4 reflecting reflecting", "reaches 2 x 0 cells before",
                       "one step at a time"},
                      [&] { stencil<offset<-2, 0>>::apply_steps(mirror, second, 2, kernel); });
        if (team.size() == 4) {
          require_error(errc::invalid_argument, {"other cells"}, [&] { plus::apply(a, other, kernel); });
        }
        plus::apply(bare, a, kernel);
      },
      {2, 4});
}
