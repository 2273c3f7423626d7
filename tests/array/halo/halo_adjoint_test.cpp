// SPDX-License-Identifier: BSL-1.0
// Contributions scattered into ghost cells return to their owners, and several arrays are exchanged at once,
// as on padded serial arrays: grids of ranks, any widths, fixed, periodic and reflecting edges, with and
// without corners.
// test: addresses, threads in full, unit halo
#include <pgas/accumulate_halo.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/exchange_halos.hpp>
#include <vector>

#include "support/padded_array.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

/// The contribution of a rank to a place of its part in a round.
template <std::size_t N>
std::uint32_t contribution(rank_t rank, place<N> const& local, int round) {
  std::uint32_t value = static_cast<std::uint32_t>(rank * 10 + round + 1);
  for (index_t i : local) value = (value ^ static_cast<std::uint32_t>(i + 20)) * 0x9e3779b1U;
  return value;
}

/// True if an exchange brings a ghost cell from its owner. It does not beyond a fixed edge, nor in a corner
/// of divided dimensions of an array without corners.
template <class Array>
bool has_owner(Array const& a, rank_t rank, place<Array::dimensions> const& local,
               place<Array::dimensions> const& global) {
  auto const own = a.box_of(rank);
  int divided = 0;
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    bool const is_ghost = local[d] < 0 || local[d] >= static_cast<index_t>(own.count[d]);
    divided += is_ghost && a.layout().places().extent(d) > 1 ? 1 : 0;
  }
  return image_in(a, global).second && (divided <= 1 || a.shape().halos().corners());
}

template <std::size_t N>
place<N> index_in(cell_index<N> const& extents, std::size_t k) {
  place<N> at{};
  for (std::size_t d = N; d-- > 0; k /= extents[d]) at[d] = static_cast<index_t>(k % extents[d]);
  return at;
}

/// Uses an operation that leaves `neutral` in ghost cells. If `split`, own cells get contributions during the
/// exchange too.
template <class Array, class Op = op::sum>
void check_adjoint(Array const& a, Op op = {}, std::uint32_t neutral = 0, bool split = false) {
  constexpr std::size_t N = Array::dimensions;
  for (int round = 0; round < 2; ++round) {
    {
      auto const cells = stage(a, pgas::read_write);
      for_each_in_part(a, [&](auto const& local, auto const&, int) {
        std::apply(cells, local) = contribution<N>(a.rank(), local, round);
      });
    }
    // Every rank knows all contributions of all ranks.
    std::vector<std::uint32_t> serial(a.size(), neutral);
    for (rank_t r = 0; r < a.ranks(); ++r) {
      for_each_in_part(a, r, [&](auto const& local, auto const& global, int) {
        if (!has_owner(a, r, local, global)) return;
        cell_index<N> index;
        for (std::size_t d = 0; d < N; ++d) index[d] = static_cast<std::size_t>(image_in(a, global).first[d]);
        auto& sum = serial[number(a.extents(), index)];
        sum = op(sum, contribution<N>(r, local, round));
      });
    }
    if (split) {
      auto const late = [](place<N> const& local) { return contribution<N>(7, local, 9); };
      auto pending = begin_accumulate_halo(a, op);
      auto const own = stage(a, pgas::read_write);
      for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
        if (ghosts != 0) return;
        auto& mine = std::apply(own, local);
        mine = op(mine, late(global));
      });
      for (std::size_t k = 0; k < serial.size(); ++k)
        serial[k] = op(serial[k], late(index_in(a.extents(), k)));
    } else {
      accumulate_halo(a, op);
    }
    auto const cells = stage(a, pgas::read_only);
    for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
      std::uint32_t expected = neutral;
      if (!has_owner(a, a.rank(), local, global)) {
        expected = contribution<N>(a.rank(), local, round);
      } else if (ghosts == 0) {
        cell_index<N> index;
        for (std::size_t d = 0; d < N; ++d) index[d] = static_cast<std::size_t>(global[d]);
        expected = serial[number(a.extents(), index)];
      }
      if (std::apply(cells, local) != expected) {
        require_equal(std::apply(cells, local), expected,
                      cell_text(a, global) + ", round " + std::to_string(round));
      }
    });
  }
}

template <class Team, class Rule>
void check_random_adjoint(Team& team, std::uint64_t seed, std::size_t largest, std::size_t widest,
                          Rule const& rule) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int array = 0; array < 5; ++array) {
    auto const extents = some_extents<N>(same, largest);
    std::array<halo_range, N> ranges;
    ranges.fill({widest});
    auto const around = some_halos(same, ranges);
    Rule const chosen = some_places(same, rule, extents, team.size());
    auto const a =
        make_array<std::uint32_t>(team, extents, chosen, same.one_in(3) ? around.without_corners() : around);
    check_adjoint(a);
    if constexpr (std::is_same_v<Rule, tiled<block, block>>) check_adjoint(a, op::min{}, ~0U, true);
  }
}

using one_of_each = std::tuple<process_model, write_back_model>;

}  // namespace

TEST_CASE("accumulate_halo: each contribution counts once, in one dimension and two") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          check_random_adjoint(team, seed, 14, 4, by_rows<1>{});
          check_random_adjoint(team, seed + 100, 9, 3, tiled<block, block>{});
        }
      },
      {1, 2, 3, 4, 6});
}

TEST_CASE(
    "accumulate_halo: each contribution counts once, in three dimensions and four, with some undivided") {
  everywhere<one_of_each>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          check_random_adjoint(team, seed + 200, 6, 2, by_rows<3>{});
          check_random_adjoint(team, seed + 300, 4, 1, tiled<block, whole, block, block>{});
        }
      },
      {1, 2, 4, 6});
}

TEST_CASE("accumulate_halo: the emulated chip, which sees every race and every stale copy, reports none") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
          check_random_adjoint(team, seed + 500, 9, 2, tiled<block, block>{});
      },
      {1, 2, 4, 6});
}

TEST_CASE("accumulate_halo: sums of doubles have the same bits in each run") {
  everywhere<one_of_each>(
      [](auto& team) {
        random_source rng(static_cast<std::uint64_t>(team.rank()) + 7);
        auto const a = make_array<double>(team, {6, 6}, tiled{block{}, block{}},
                                          halo{.width = 2, .edges = edge::periodic});
        std::vector<double> first;
        for (int round = 0; round < 6; ++round) {
          {
            auto const cells = stage(a, pgas::read_write);
            for_each_in_part(a, [&](auto const& local, auto const& global, int) {
              std::apply(cells, local) =
                  1.0 / static_cast<double>(3 + contribution<2>(a.rank(), global, 0) % 1000);
            });
          }
          dawdle(rng);
          accumulate_halo(a);
          std::vector<double> sums;
          auto const cells = stage(a, pgas::read_only);
          for_each_in_part(a, [&](auto const& local, auto const&, int ghosts) {
            if (ghosts == 0) sums.push_back(std::apply(cells, local));
          });
          if (round == 0) first = sums;
          require(sums == first, "the sums are those of the first round");
        }
      },
      {4, 6});
}

TEST_CASE("accumulate_halo: it is the adjoint of the exchange: <exchange(x), y> is <x, accumulate(y)>") {
  everywhere<one_of_each>(
      [](auto& team) {
        auto const around =
            halos<2>{halo{.width = 2, .edges = edge::periodic}, {.width = 1, .edges = edge::reflecting}};
        auto const x = make_array<std::int64_t>(team, {5, 7}, tiled{block{}, block{}}, around);
        auto const y = make_array<std::int64_t>(team, {5, 7}, tiled{block{}, block{}}, around);
        auto const fill = [&](auto const& a, int round) {
          auto const cells = stage(a, pgas::read_write);
          for_each_in_part(a, [&](auto const& local, auto const&, int ghosts) {
            bool const is_x = &a == &x;
            std::apply(cells, local) =
                is_x && ghosts != 0
                    ? 0
                    : static_cast<std::int64_t>(contribution<2>(a.rank(), local, round) % 1000);
          });
        };
        auto const product = [&] {
          std::int64_t sum = 0;
          auto const left = stage(x, pgas::read_only);
          auto const right = stage(y, pgas::read_only);
          for_each_in_part(x, [&](auto const& local, auto const&, int) {
            sum += std::apply(left, local) * std::apply(right, local);
          });
          return team.all_reduce(sum);
        };
        fill(x, 1);
        fill(y, 2);
        if (x.shape().halos().any()) exchange_halo(x);
        auto const before = product();
        fill(x, 1);
        accumulate_halo(y);
        require_equal(product(), before, "the product");
      },
      {1, 2, 4});
}

namespace {

template <class T, std::size_t N>
T value_of(place<N> const& at, int round) {
  return static_cast<T>(contribution<N>(0, at, round) % 251);
}

/// Exchanges several arrays of different elements at once, and requires that each has its ghost cells.
template <class... Arrays>
void check_together(Arrays const&... arrays) {
  for (int round = 0; round < 3; ++round) {
    int nth = 0;
    auto const fill = [&](auto const& a) {
      using array = std::remove_cvref_t<decltype(a)>;
      ++nth;
      auto const cells = stage(a, pgas::write_only);
      for_each_in_part(a, [&](auto const& local, auto const& global, int ghosts) {
        if (ghosts == 0) {
          std::apply(cells, local) =
              value_of<typename array::value_type, array::dimensions>(global, round * 10 + nth);
        }
      });
    };
    (fill(arrays), ...);
    if (round == 1) {
      auto pending = begin_exchange(arrays...);
      auto moved = std::move(pending);
      moved.finish();
    } else {
      exchange_halo(arrays...);
    }
    nth = 0;
    auto const check = [&](auto const& a) {
      using array = std::remove_cvref_t<decltype(a)>;
      using value_type = typename array::value_type;
      ++nth;
      auto const cells = stage(a, pgas::read_only);
      for_each_in_part(a, [&](auto const& local, auto const& global, int) {
        if (!has_owner(a, a.rank(), local, global)) return;
        auto const expected =
            value_of<value_type, array::dimensions>(image_in(a, global).first, round * 10 + nth);
        value_type const seen = std::apply(cells, local);
        if (seen != expected) {
          require_equal(seen, expected, "array " + std::to_string(nth) + ": " + cell_text(a, global));
        }
      });
    };
    (check(arrays), ...);
  }
}

template <class Team, class Rule>
void check_random_together(Team& team, std::uint64_t seed, Rule const& rule) {
  constexpr std::size_t N = Rule::dimensions;
  random_source same(seed);
  for (int several = 0; several < 4; ++several) {
    auto const extents = some_extents<N>(same, 9);
    std::array<halo_range, N> ranges;
    ranges.fill({3});
    auto const around = some_halos(same, ranges);
    Rule const chosen = some_places(same, rule, extents, team.size());
    auto const a = make_array<double>(team, extents, chosen, around);
    auto const b = make_array<unsigned char>(team, extents, chosen, around);
    auto const c = make_array<double>(team, extents, chosen, around);
    check_together(a, b, c);
    if (b.shape().halos().any()) exchange_halo(b);  // one array alone in between
    check_together(c, a);
  }
}

}  // namespace

TEST_CASE("halo: several arrays are exchanged in one round") {
  everywhere<few_models>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
          check_random_together(team, seed, tiled<block, block>{});
      },
      {1, 2, 3, 4, 6});
}

TEST_CASE(
    "halo: the emulated chip, which sees every race, reports none when several arrays are exchanged in one "
    "round") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        for (std::uint64_t seed = 1; seed <= 2; ++seed)
          check_random_together(team, seed + 50, tiled<block, block>{});
      },
      {1, 2, 4, 6});
}

TEST_CASE("halo: a common exchange of arrays with different neighbours, or of one array twice, is refused") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        auto const a = make_array<int>(team, {12, 12}, halo{.width = 1});
        auto const other = make_array<int>(team, {12, 12}, halo{.width = 7});
        require_error(errc::invalid_argument, {"same neighbours"}, [&] { exchange_halo(a, other); });
        require_error(errc::invalid_argument, {"twice"}, [&] { exchange_halo(a, a); });
        auto const b = make_array<int>(team, {12, 12}, halo{.width = 1});
        auto pending = begin_exchange(a, b);
        require_error(errc::wrong_order, {"begin_exchange"}, [&] { static_cast<void>(begin_exchange(b)); });
        pending.finish();
        require_error(errc::wrong_order, {"close"}, [&] { pending.finish(); });
        exchange_halo(b, a);
      },
      {4});
}
