// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/algorithm/reduce.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Every rank returns op over init and f(cell) of all cells: `transform_reduce(team, a, 0.0, op::sum{}, square)`.
///
/// Collective over the team, which must be the array's; ranks may own nothing. The result has init's type. op is
/// associative: a rank's own cells are combined in the order of memory, then the ranks' results in rank order, so that
/// the bits are the same each time on the same layout and number of ranks.
/// Throws errc::invalid_argument for a team that is not the array's.
/// Costs one value a rank. MPI: a local loop and MPI_Allreduce; the standard: std::transform_reduce.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          transportable T, class Op, class F>
  requires(operation_on<Op, T> && std::is_invocable_r_v<T, F&, typename Array::value_type const&>)
[[nodiscard]] T transform_reduce(team<Backend, Coherence, Protocols> team, Array const& a, T init, Op op, F f) {
  detail::check_team(team, a, "transform_reduce");
  std::optional<T> own;
  detail::for_each_own_row<read>(a, [&](auto const&, auto row) {
    for (auto const& cell : row) detail::combine(own, static_cast<T>(std::invoke(f, cell)), op);
  });
  return detail::combine_ranks(team, own, init, op);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
