// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <pgas/algorithm/find.hpp>

namespace PGAS_NAMESPACE {

/// Every rank returns whether holds(cell) is true for at least one cell; false for an array without cells.
///
/// Collective over the team, which must be the array's; ranks may own nothing. A rank stops at its first cell
/// for which holds is true.
/// Throws errc::invalid_argument if the team is not the array's. Costs one value per rank.
/// MPI: a local loop and MPI_Allreduce with MPI_LOR; DASH: dash::any_of; the standard: std::any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool any_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  detail::check_team(team, a, "any_of");
  std::uint8_t const mine = detail::first_own(a, holds) != detail::no_cell ? 1 : 0;
  return team.all_reduce(mine, op::max{}) != 0;
}

/// Every rank returns whether holds(cell) is true for all cells; true for an array without cells. Otherwise
/// like any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool all_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  return !any_of(team, a, std::not_fn(std::move(holds)));
}

/// Every rank returns whether holds(cell) is true for no cell; true for an array without cells. Otherwise
/// like any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool none_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  return !any_of(team, a, std::move(holds));
}

}  // namespace PGAS_NAMESPACE
