// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/algorithm/find.hpp>

namespace PGAS_NAMESPACE {

/// Every rank returns the number of cells for which holds(cell) is true.
///
/// Collective over the team, which must be the array's; ranks may own nothing. holds is called once per cell,
/// on the cell's owner.
/// Throws errc::invalid_argument if the team is not the array's. Costs one value per rank.
/// MPI: a local loop and MPI_Allreduce; the standard: std::count_if.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] std::size_t count_if(team<Backend, Coherence, Protocols> team, Array const& a, Holds holds) {
  detail::check_team(team, a, "count_if");
  std::uint64_t own = 0;
  detail::for_each_own_row(a, read_only, [&](auto const&, auto row) {
    own += static_cast<std::uint64_t>(std::count_if(row.begin(), row.end(), std::ref(holds)));
  });
  return static_cast<std::size_t>(team.all_reduce(own));
}

/// Every rank returns the number of cells equal to value. Otherwise like count_if.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array>
  requires std::equality_comparable<typename Array::value_type>
[[nodiscard]] std::size_t count(team<Backend, Coherence, Protocols> team, Array const& a,
                                std::type_identity_t<typename Array::value_type> const& value) {
  return count_if(team, a, [&](typename Array::value_type const& cell) { return cell == value; });
}

}  // namespace PGAS_NAMESPACE
