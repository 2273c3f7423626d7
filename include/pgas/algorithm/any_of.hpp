// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/algorithm/find.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Whether holds(cell) is true of a cell; every rank returns the same. False of no cells.
///
/// Collective over the team, which must be the array's; ranks may own nothing. A rank stops at the first of its cells
/// that decides. Throws errc::invalid_argument for a team that is not the array's.
/// Costs one value a rank. MPI: a local loop and MPI_Allreduce of MPI_LOR; DASH: dash::any_of; the standard:
/// std::any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool any_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  detail::check_team(team, a, "any_of");
  std::uint8_t const mine = detail::first_own(a, holds) != detail::no_cell ? 1 : 0;
  return team.all_reduce(mine, op::max{}) != 0;
}

/// Whether it is true of all cells. True of no cells. Else like any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool all_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  return !any_of(team, a, std::not_fn(std::move(holds)));
}

/// Whether it is true of no cell. Else like any_of.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] bool none_of(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  return !any_of(team, a, std::move(holds));
}

}  // namespace pgas::inline PGAS_ASSERTIONS
