// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/algorithm/reduce.hpp>
#include <pgas/array/local_array.hpp>
#include <pgas/detail/array/partial_results.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/distributions/block.hpp>
#include <pgas/layouts/tiled.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE {

/// The type of `over_dimensions<0, 2>`.
template <std::size_t... D>
struct dimension_list {
  static constexpr std::array<std::size_t, sizeof...(D)> each{D...};  ///< in the order given
};
/// Names the dimensions that a reduction folds: `all_reduce(team, a, over_dimensions<0, 2>, 0.0)`. NumPy:
/// axis; xarray: dim.
template <std::size_t... D>
inline constexpr dimension_list<D...> over_dimensions{};

namespace detail {

template <class Others>
struct blocks_of;
template <std::size_t... D>
struct blocks_of<std::index_sequence<D...>> {
  template <std::size_t>
  using one = block;
  using type = tiled<one<D>...>;
};
/// Results of these extents in blocks of the first dimension, one for each rank. If it has too few indices,
/// blocks of the longest.
template <std::size_t M>
auto shared_out(std::array<std::size_t, M> const& extents, rank_t ranks) {
  std::array<rank_t, M> places;
  places.fill(1);
  auto const longest = extents[0] >= static_cast<std::size_t>(ranks)
                           ? extents.begin()
                           : std::max_element(extents.begin(), extents.end());
  places[static_cast<std::size_t>(longest - extents.begin())] = ranks;
  return typename blocks_of<std::make_index_sequence<M>>::type{}.on(grid<M>(places)).over(extents, ranks);
}

template <class Over>
inline constexpr std::size_t dimensions_named = 0;
template <std::size_t... D>
inline constexpr std::size_t dimensions_named<dimension_list<D...>> = sizeof...(D);
template <std::size_t K>
inline constexpr std::size_t dimensions_named<std::array<std::size_t, K>> = K;
/// A list of dimensions: over_dimensions, or an std::array.
template <class Over>
concept names_dimensions = dimensions_named<Over> != 0;

/// The dimensions of an array that a list names. Throws if it does not have them, or has them once only.
template <any_global_array Array, names_dimensions Over>
auto folded_by(Array const& a, Over const& over, std::string_view operation) {
  constexpr std::size_t N = Array::dimensions;
  constexpr std::size_t count = dimensions_named<Over>;
  static_assert(count < N,
                "pgas: a reduction over dimensions keeps at least one; reduce(team, array, init) folds all");
  auto const are_right = [](std::array<std::size_t, count> const& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](std::size_t d) { return d < N && std::count(list.begin(), list.end(), d) == 1; });
  };
  if constexpr (requires { Over::each; }) {
    static_assert(are_right(Over::each), "pgas: name different dimensions of the array, counted from 0");
    return folded_dimensions<N, count>(Over::each);
  } else {
    PGAS_EXPECTS(light, are_right(over),
                 throw error(errc::invalid_argument, a.state().job_rank(), operation,
                             "an array of " + std::to_string(N) + " dimensions cannot be folded over (" +
                                 joined(over, ", ") + "); name different ones, counted from 0"));
    return folded_dimensions<N, count>(over);
  }
}

/// A number that differs if ranks fold over other dimensions, by another operation or from another init.
template <std::size_t N, std::size_t K, class T, class Op>
std::uint64_t hash_of_fold(folded_dimensions<N, K> const& dimensions, T const& init) noexcept {
  std::uint64_t hash = folded_kind::of<T, Op>().bits();
  auto const mix = [&hash](std::uint64_t one) { hash = (hash ^ one) * 0x9e3779b97f4a7c15U; };
  for (std::size_t d = 0; d < N; ++d) mix(dimensions.is_folded(d) ? 2 : 1);
  // Bytes of other types may differ between equal values.
  if constexpr (std::has_unique_object_representations_v<T>) {
    for (std::byte const one : std::as_bytes(std::span(&init, 1))) mix(static_cast<std::uint64_t>(one));
  }
  return hash ^ hash >> 32U;
}

/// Returns the results of the cells that this rank owns in `target`, tile after tile.
///
/// From level normal on, the values for each rank begin with one that says how this rank folds.
template <class Team, class Array, std::size_t K, class Layout, class Op>
auto fold_to_owners(Team& team, Array const& a, folded_dimensions<Array::dimensions, K> const& dimensions,
                    Layout const& target, typename Array::value_type const& init, Op& op,
                    std::string_view operation) {
  using T = typename Array::value_type;
  constexpr bool in_order = !commutes<Op>;
  partial_results<Array, K, in_order> const mine(a, dimensions, op);
  partial_results_to_fold<Array::dimensions, K, in_order> const plan(a.layout(), dimensions, target,
                                                                     team.rank());
  constexpr std::size_t extra = assertions >= assertion_level::normal ? 1 : 0;
  T how{};
  std::uint64_t const hash = hash_of_fold<Array::dimensions, K, T, Op>(dimensions, init);
  std::memcpy(static_cast<void*>(&how), &hash, std::min(sizeof hash, sizeof how));
  auto const out = mine.values_for(target, std::span<T const>(&how, extra));
  auto counts = plan.counts();
  std::size_t all = 0;
  for (std::size_t& count : counts) all += count += extra;
  auto came = local_array<T, 1>::for_overwrite({all});
  team.all_to_all(out.values, std::span(out.counts), came, std::span(std::as_const(counts)));
  T const* from = came.data();
  for (rank_t r = 0; extra != 0 && r < team.size(); from += counts[static_cast<std::size_t>(r++)]) {
    if (std::memcmp(static_cast<void const*>(from), &hash, std::min(sizeof hash, sizeof how)) != 0)
        [[unlikely]]
      throw error(errc::mismatch, a.state().job_rank(), operation,
                  "this rank and rank " + std::to_string(r) +
                      " of the team fold an array over other dimensions, by other operations or from other "
                      "values; all ranks must give the same");
  }
  return plan.fold(came, extra, out.own, init, op);
}

/// Puts blocks that ranks own in `from`, side by side, to their places in a whole array.
template <class T, std::size_t M, class Layout>
local_array<T, M> placed(local_array<T, M> blocks, Layout const& from) {
  if (from.places().extent(0) == from.places().size()) return blocks;  // rows, which lie in their order
  box<M> const all{{}, blocks.extents()};
  auto whole = local_array<T, M>::for_overwrite(blocks.extents());
  T const* block = blocks.data();
  for (rank_t r = 0; r < from.ranks(); ++r) {
    auto const cells = from.box_of(r);
    if (cells.size() == 0) continue;
    for_each_row_of(cells, cells, all, [&](std::size_t at, std::size_t to, std::size_t count) {
      std::copy_n(block + at, count, whole.data() + to);
    });
    block += cells.size();
  }
  return whole;
}

inline constexpr rank_t all_ranks = -1;  ///< in the place of a root

/// Returns the whole result on the root, or on all ranks.
template <class Team, class Array, class Over, class T, class Op>
auto fold_to(Team& team, Array const& a, Over const& over, T const& init, rank_t root, Op& op,
             std::string_view operation) {
  constexpr std::size_t kept = Array::dimensions - dimensions_named<Over>;
  check_team(team, a, operation);
  auto const dimensions = folded_by(a, over, operation);
  auto const extents = dimensions.kept_of(a.extents());
  auto const shares = shared_out(extents, team.size());
  auto const own = fold_to_owners(team, a, dimensions, shares, init, op, operation);
  std::vector<std::size_t> counts;
  for (rank_t r = 0; r < team.size(); ++r) counts.push_back(shares.box_of(r).size());
  bool const is_here = root == all_ranks || root == team.rank();
  auto blocks = local_array<T, kept>::for_overwrite(is_here ? extents : std::array<std::size_t, kept>{});
  if (root == all_ranks) {
    team.all_gather(own, blocks, std::span(std::as_const(counts)));
  } else {
    team.gather(own, blocks, std::span(std::as_const(counts)), root);
  }
  if (!is_here) return blocks;
  return placed(std::move(blocks), shares);
}

/// Stores the result in an array.
template <class Team, class Array, class Over, class T, class Into, class Op>
void fold_into(Team& team, Array const& a, Over const& over, T const& init, Into const& into, Op& op,
               std::string_view operation) {
  static_assert(Into::dimensions == Array::dimensions - dimensions_named<Over>,
                "pgas: the array of the results has the dimensions that are not folded");
  check_team(team, a, operation);
  check_team(team, into, operation);
  auto const dimensions = folded_by(a, over, operation);
  PGAS_EXPECTS(
      light, dimensions.kept_of(a.extents()) == into.extents(),
      throw error(errc::invalid_argument, a.state().job_rank(), operation,
                  "an array of " + joined(a.extents(), " x ") + " has results of " +
                      joined(dimensions.kept_of(a.extents()), " x ") + ", and the array for them has " +
                      joined(into.extents(), " x ") + "; make it of these extents"));
  auto const own = fold_to_owners(team, a, dimensions, into.layout(), init, op, operation);
  T const* from = own.data();
  for_each_own_row(into, write_only, [&](auto const&, auto row) {
    std::copy_n(from, row.size(), row.begin());
    from += row.size();
  });
}

}  // namespace detail

/// Every rank returns the results of op over init and all cells that differ in the given dimensions alone:
/// `all_reduce(team, a, over_dimensions<0>, 0.0)` has the sum of each column of a matrix.
///
/// Collective over the team, which must be the array's; ranks may own nothing, and extents may be 0. The
/// result has the other dimensions, in their order, in private memory. `over` is a list of different
/// dimensions and leaves at least one: `over_dimensions<0, 2>`, `{0, 2}` or an std::array.
/// Operands come in the order of their indices, so op need not commute, but it must be associative. If it
/// commutes, like those of namespace op and `pgas::commutative(f)`, each rank folds its own cells, and the
/// ranks' results are folded in rank order. Results have the same bits on every rank and backend and in every
/// run, for the same layout and number of ranks.
/// Throws errc::invalid_argument if the team is not the array's, or for dimensions that it does not have, and
/// errc::mismatch, from level normal on, if ranks give other dimensions, operations or, of integers, init.
/// Costs one pass over own cells. Each rank sends its results once to ranks that fold a share of them, and
/// then its share to all. If op does not commute, it sends a result for each piece of neighbours in the
/// folded order.
/// MPI: a local loop, MPI_Reduce_scatter and MPI_Allgatherv; xarray: reduce; xtensor: sum.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::names_dimensions Over, detail::folds<typename Array::value_type> Op = op::sum>
[[nodiscard]] auto all_reduce(team<Backend, Coherence, Protocols> team, Array const& a, Over const& over,
                              std::type_identity_t<typename Array::value_type> init, Op op = {}) {
  return detail::fold_to(team, a, over, init, detail::all_ranks, op, "all_reduce");
}
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          std::size_t K, detail::folds<typename Array::value_type> Op = op::sum>
[[nodiscard]] auto all_reduce(team<Backend, Coherence, Protocols> team, Array const& a,
                              std::size_t const (&over)[K],
                              std::type_identity_t<typename Array::value_type> init, Op op = {}) {
  return all_reduce(team, a, std::to_array(over), init, op);
}

/// The root returns these results, and other ranks an array without cells:
/// `reduce(team, a, over_dimensions<0>, 0.0, 0)`. Otherwise like all_reduce over dimensions.
///
/// Throws errc::out_of_range for a root that is no rank of the team.
/// MPI: a local loop and MPI_Reduce.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::names_dimensions Over, detail::folds<typename Array::value_type> Op = op::sum>
[[nodiscard]] auto reduce(team<Backend, Coherence, Protocols> team, Array const& a, Over const& over,
                          std::type_identity_t<typename Array::value_type> init, rank_t root, Op op = {},
                          detail::caller by = detail::here()) {
  PGAS_EXPECTS(light, root >= 0 && root < team.size(),
               detail::throw_bad_rank(a.state().job_rank(), {"reduce", by}, root, team.size()));
  return detail::fold_to(team, a, over, init, root, op, "reduce");
}
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          std::size_t K, detail::folds<typename Array::value_type> Op = op::sum>
[[nodiscard]] auto reduce(team<Backend, Coherence, Protocols> team, Array const& a,
                          std::size_t const (&over)[K], std::type_identity_t<typename Array::value_type> init,
                          rank_t root, Op op = {}, detail::caller by = detail::here()) {
  return reduce(team, a, std::to_array(over), init, root, op, by);
}

/// Stores these results in an array of the other dimensions, of any layout:
/// `reduce(team, a, over_dimensions<0>, 0.0, columns)`. Otherwise like all_reduce over dimensions.
///
/// Each rank stores to its own cells; other ranks see them after the next fence.
/// Throws errc::invalid_argument also for an array of other extents, or of another team.
/// Costs less than all_reduce: no rank sends its share of the results.
/// MPI: a local loop and MPI_Reduce_scatter.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::names_dimensions Over, any_global_array Into,
          detail::folds<typename Array::value_type> Op = op::sum>
  requires std::same_as<typename Into::value_type, typename Array::value_type>
void reduce(team<Backend, Coherence, Protocols> team, Array const& a, Over const& over,
            std::type_identity_t<typename Array::value_type> init, Into const& into, Op op = {}) {
  detail::fold_into(team, a, over, init, into, op, "reduce");
}
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          std::size_t K, any_global_array Into, detail::folds<typename Array::value_type> Op = op::sum>
  requires std::same_as<typename Into::value_type, typename Array::value_type>
void reduce(team<Backend, Coherence, Protocols> team, Array const& a, std::size_t const (&over)[K],
            std::type_identity_t<typename Array::value_type> init, Into const& into, Op op = {}) {
  reduce(team, a, std::to_array(over), init, into, op);
}

}  // namespace PGAS_NAMESPACE
