// SPDX-License-Identifier: BSL-1.0
// Reductions over dimensions of an array give what serial loops over the indices give, on every layout and
// backend.
// test: unit algorithm
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/reduce_over.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <type_traits>
#include <vector>

#include "support/distributions.hpp"
#include "support/ranks.hpp"
#include "support/serial_array.hpp"

using namespace pgas_test;
using pgas::make_array;
using pgas::over_dimensions;

namespace {

/// A function x -> a x + b. The order of such functions matters, and nothing is rounded.
struct affine_map {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  friend bool operator==(affine_map, affine_map) = default;
  friend std::ostream& operator<<(std::ostream& out, affine_map f) { return out << f.a << " x + " << f.b; }
};
/// Applies the first function, then the second.
struct chain {
  affine_map operator()(affine_map first, affine_map second) const {
    return {second.a * first.a, second.a * first.b + second.b};
  }
};

affine_map function_of(std::size_t k) {
  auto const mixed = static_cast<std::uint32_t>(k + 1) * 2654435761U;
  return {mixed | 1U, mixed >> 7U};
}
double number_of(std::size_t k) { return 1.0 / (3.0 + static_cast<double>(k * 7919 % 1013)); }

template <class T>
T value_of(std::size_t k) {
  if constexpr (std::is_same_v<T, affine_map>) {
    return function_of(k);
  } else {
    return number_of(k);
  }
}
template <class T, std::size_t N, class Team, class Rule>
auto filled(Team& team, cell_index<N> const& extents, Rule const& rule) {
  auto a = make_array<T>(team, extents, rule);
  pgas::for_each_index(a, [&](auto const& i, T& x) { x = value_of<T>(number(extents, i)); });
  return a;
}

/// The result of a serial loop over all indices.
template <class T, std::size_t N, std::size_t K, class Op>
std::vector<T> serially(cell_index<N> const& extents, std::array<std::size_t, K> const& over, T init, Op op) {
  pgas::detail::folded_dimensions<N, K> const dimensions(over);
  auto const kept = dimensions.kept_of(extents);
  std::vector<T> results(box<N - K>{{}, kept}.size(), init);
  cell_index<N> i{};
  if (box<N>{{}, extents}.size() == 0) return results;
  do {
    T& one = results[number(kept, dimensions.kept_of(i))];
    one = op(one, value_of<T>(number(extents, i)));
  } while (pgas::detail::advance(i, extents));
  return results;
}

template <class Local, class T>
void require_results(Local const& is, std::vector<T> const& should, std::string const& what) {
  require_equal(is.size(), should.size(), what + ": cells");
  for (std::size_t k = 0; k < should.size(); ++k)
    require_equal(is.begin()[k], should[k], what + ": cell " + std::to_string(k));
}

/// Folds functions over some dimensions in all three forms. `into` is the layout of an array of results.
template <std::size_t N, std::size_t K, class Team, class Array, class Into>
void check_order(Team& team, Array const& a, std::array<std::size_t, K> const& over, Into const& into) {
  std::string const where = a.layout().describe() + " of " + pgas::detail::joined(a.extents(), " x ") +
                            " over (" + pgas::detail::joined(over, ", ") + ")";
  affine_map const init{5, 3};
  auto const should = serially<affine_map>(a.extents(), over, init, chain{});
  auto const all = pgas::all_reduce(team, a, over, init, chain{});
  require_results(all, should, "all_reduce on " + where);

  rank_t const root = static_cast<rank_t>(N + K) % team.size();
  auto const at_root = pgas::reduce(team, a, over, init, root, chain{});
  if (team.rank() == root) {
    require_results(at_root, should, "reduce to a root on " + where);
  } else {
    require(at_root.empty(), "another rank than the root gets no cells");
  }

  auto const results = make_array<affine_map>(team, all.extents(), into);
  pgas::reduce(team, a, over, init, results, chain{});
  pgas::for_each_index(results, [&](auto const& i, affine_map& x) {
    require_equal(x, should[number(results.extents(), i)], "reduce into an array, on " + where);
  });
}

template <class Team, class Rule>
void check_matrix(Team& team, cell_index<2> const& extents, Rule const& rule) {
  auto const a = filled<affine_map>(team, extents, rule);
  for (std::size_t const d : {0U, 1U}) {
    std::array<std::size_t, 1> const over{d};
    affine_map const init{7, 2};
    require_results(pgas::all_reduce(team, a, over, init, chain{}),
                    serially<affine_map>(extents, over, init, chain{}), a.layout().describe());
  }
}

}  // namespace

TEST_CASE(
    "reduce over dimensions: operands come in the order of their indices, on every layout of a matrix") {
  everywhere<few_models>(
      [](auto& team) {
        using namespace pgas;
        for (auto const& extents : {cell_index<2>{1, 1}, {0, 3}, {3, 0}, {7, 9}, {2, 11}}) {
          for_each_layout([&](auto const& rule) { check_matrix(team, extents, rule); });
          for_each_distribution(extents[1], team.size(), [&](auto const& rule) {
            check_matrix(team, extents, tiled{whole{}, rule});
          });
        }
      },
      {1, 2, 3, 6, 8});
}

TEST_CASE("reduce over dimensions: all forms fold in the order of the indices, on every backend") {
  everywhere([](auto& team) {
    for (auto const& extents : {cell_index<2>{7, 9}, {2, 11}}) {
      auto const a = filled<affine_map>(team, extents, pgas::tiled{pgas::block_cyclic<2>{}, pgas::cyclic{}});
      check_order<2, 1>(team, a, std::array<std::size_t, 1>{0}, pgas::cyclic{});
      check_order<2, 1>(team, a, std::array<std::size_t, 1>{1}, pgas::cyclic{});
    }
  });
}

TEST_CASE("reduce over dimensions: random arrays of three and four dimensions give what serial loops give") {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  std::size_t models = 0;
  for_each_model<few_models>([&]<class Model>(Model) { ++models; });
  for_each_model<few_models>([&]<class Model>(Model) {
    auto const end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(seconds / static_cast<double>(models));
    std::uint64_t seed = next_seed();
    std::uint64_t const first = seed;
    do {
      on<Model>(static_cast<rank_t>(1 + seed % 8), [seed](auto& team) {
        using namespace pgas;
        random_source rng(seed);
        cell_index<3> const cube{rng.below(6), rng.below(9), rng.below(8)};
        auto const tiles = filled<affine_map>(team, cube, cyclic_tiles<2, 3, 2>{});
        auto const blocks = filled<affine_map>(team, cube, tiled{block{}, cyclic{}, block_cyclic<2>{}});
        std::size_t const one = rng.below(3);
        std::size_t const other = (one + 1 + rng.below(2)) % 3;
        check_order<3, 1>(team, tiles, std::array{one}, cyclic_tiles<3, 2>{});
        check_order<3, 2>(team, tiles, std::array{one, other}, cyclic{});
        check_order<3, 1>(team, blocks, std::array{one}, by_rows<2>{});
        check_order<3, 2>(team, blocks, std::array{other, one}, block{});
        cell_index<4> const four{rng.below(5), 1 + rng.below(4), 1 + rng.below(6), 1 + rng.below(4)};
        auto const all = filled<affine_map>(team, four, tiled{whole{}, block{}, block_cyclic<2>{}, block{}});
        check_order<4, 2>(team, all, std::array{one, other}, by_rows<2>{});
      });
    } while (++seed, agreed(std::chrono::steady_clock::now() < end));
    std::cout << "covered: " << seed - first << " sets of arrays folded over dimensions on " << Model::name()
              << "\n";
  });
}

TEST_CASE(
    "reduce over dimensions: results of an operation that commutes have the same bits on every rank and "
    "backend, and in every form") {
  std::map<rank_t, std::vector<double>> bits;  // of the first model, by the number of ranks
  for_each_model([&]<class Model>(Model) {
    for (rank_t const ranks : {1, 3, 4, 8}) {
      if (!can_have<typename Model::backend>(ranks)) continue;
      auto const sums = pgas::run<typename Model::backend>(ranks, [](auto& world) {
        auto team = world.template with<typename Model::coherence, typename Model::protocols>();
        cell_index<2> const extents{37, 21};
        auto const a = filled<double>(team, extents, pgas::tiled{pgas::block_cyclic<4>{}, pgas::block{}});
        auto const rows = pgas::all_reduce(team, a, over_dimensions<1>, 0.25);
        auto const columns = pgas::all_reduce(team, a, {0}, 0.25);
        std::array<double, 37 + 21> all{};
        std::copy(rows.begin(), rows.end(), all.begin());
        std::copy(columns.begin(), columns.end(), all.begin() + 37);
        auto const same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
        for (auto const& theirs : team.all_gather(all))
          require(std::equal(all.begin(), all.end(), theirs.begin(), same), "all ranks have the same bits");
        auto const results = make_array<double>(team, rows.extents(), pgas::cyclic{});
        pgas::reduce(team, a, over_dimensions<1>, 0.25, results);
        pgas::for_each_index(results, [&](auto const& i, double& x) {
          require(same(x, rows[i]), "an array of results has the same bits");
        });
        auto const there = pgas::reduce(team, a, over_dimensions<0>, 0.25, team.size() - 1);
        require(std::equal(there.begin(), there.end(), columns.begin(), same), "a root has the same bits");
        return all;
      });
      std::vector<double> const now(sums.begin(), sums.end());
      auto const& first = bits.try_emplace(ranks, now).first->second;
      CHECK_MESSAGE(std::memcmp(first.data(), now.data(), now.size() * sizeof(double)) == 0,
                    Model::name() << " has the bits of other backends, " << ranks << " ranks");
    }
  });
}

TEST_CASE("reduce over dimensions: an operation that does not commute, though it says so, is found out") {
  everywhere<few_models>(
      [](auto& team) {
        cell_index<2> const extents{9, 2};
        auto const a = filled<affine_map>(team, extents, pgas::tiled{pgas::cyclic{}, pgas::whole{}});
        auto const should =
            serially<affine_map>(extents, std::array<std::size_t, 1>{0}, affine_map{}, chain{});
        auto const is = pgas::all_reduce(team, a, {0}, affine_map{}, pgas::commutative(chain{}));
        require(!(is(0) == should[0]), "an order that is not that of the indices has another result");
      },
      {2, 3});
}

TEST_CASE("reduce over dimensions: lists of dimensions, operations and elements may be of any kind") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<int>(team, {4, 3, 5});
        pgas::iota(a, 0);
        auto const most = pgas::all_reduce(team, a, over_dimensions<2, 0>, -1, pgas::op::max{});
        require_equal(most(2), 59, "the largest number with index 2 in dimension 1");
        std::array<std::size_t, 1> const list{1};
        auto sums = pgas::all_reduce(team, a, list, 0, std::plus<int>{});
        require_equal(sums(3, 4), 49 + 54 + 59, "a sum over dimension 1");
        require_equal(sums.view()[std::array{0, 1}], 1 + 6 + 11, "the same as a view");
        auto const copy = sums;
        sums(0, 0) = 7;
        require_equal(copy(0, 0), 0 + 5 + 10, "a copy has cells of its own");
        auto const flags = make_array<char>(team, {6, 2});
        pgas::for_each_index(flags, [](auto const& i, char& x) { x = i[0] == 5 && i[1] == 1 ? 1 : 0; });
        auto const any = pgas::all_reduce(team, flags, {0}, 0, [](char x, char y) { return x != 0 ? x : y; });
        require(any(0) == 0 && any(1) == 1, "cells of one byte");
      },
      {1, 3});
}

TEST_CASE("reduce over dimensions: wrong dimensions, roots, extents and teams get a clear error") {
  everywhere<few_models>(
      [](auto& team) {
        auto const a = make_array<double>(team, {4, 3, 5});
        auto const three = make_array<double>(team, 3);
        require_error(errc::invalid_argument, {"all_reduce", "3 dimensions", "(0, 3)"}, [&] {
          (void)pgas::all_reduce(team, a, {0, 3}, 0.0);
        });
        require_error(errc::invalid_argument, {"all_reduce", "(1, 1)", "different"}, [&] {
          (void)pgas::all_reduce(team, a, {1, 1}, 0.0);
        });
        require_error(errc::out_of_range, {"reduce", "does not exist in a team"},
                      [&] { (void)pgas::reduce(team, a, {1}, 0.0, team.size()); });
        require_error(errc::invalid_argument, {"reduce", "4 x 3 x 5 has results of 4", "has 3"}, [&] {
          pgas::reduce(team, a, {1, 2}, 0.0, three);
        });
        auto const alone = team.self();
        require_error(errc::invalid_argument, {"all_reduce", "pass the array's team"},
                      [&] { (void)pgas::all_reduce(alone, a, {1}, 0.0); });
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("reduce over dimensions: ranks that fold in other ways get an error") {
  for_each_model<few_models>([]<class Model>(Model) {
    auto const refused = [](auto const& odd, auto const& others) {
      auto const e = error_of<Model>(3, [&](auto& team) {
        auto const a = make_array<int>(team, {6, 6});
        pgas::iota(a, 0);
        team.rank() == 2 ? odd(team, a) : others(team, a);
      });
      REQUIRE_MESSAGE(e.has_value(), Model::name());
      CHECK_MESSAGE((e->code() == pgas::make_error_code(errc::mismatch) ||
                     e->code() == pgas::make_error_code(errc::deadlock)),
                    Model::name() << ": " << std::string(e->what()));
    };
    auto const sums = [](auto& team, auto const& a) { (void)pgas::all_reduce(team, a, {0}, 0); };
    refused([](auto& team, auto const& a) { (void)pgas::all_reduce(team, a, {1}, 0); }, sums);
    refused([](auto& team, auto const& a) { (void)pgas::all_reduce(team, a, {0}, 1); }, sums);
    refused([](auto& team, auto const& a) { (void)pgas::all_reduce(team, a, {0}, 0, pgas::op::max{}); },
            sums);
    refused([](auto& team, auto const& a) { (void)pgas::reduce(team, a, {0}, 0, 2); }, sums);
  });
}
