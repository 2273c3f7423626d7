// expects: do not fit into its message buffer
// SPDX-License-Identifier: BSL-1.0
#include <pgas/collectives/oc_bcast.hpp>
#include <pgas/pgas.hpp>

void spread(pgas::team<pgas::backends::process_map> const& team, std::vector<double>& values) {
  team.broadcast(values, 0, pgas::collectives::oc_bcast<7, 40'000, 2>{});
}
