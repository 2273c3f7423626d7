// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/team.hpp>
#include <pgas/vocabulary/grid.hpp>

namespace PGAS_NAMESPACE {

/// The team of the ranks in this rank's line of a grid along dimension d, in the order of their places. In
/// two dimensions `team_along(team, places, 1)` is the rank's row and `team_along(team, places, 0)` its
/// column.
///
/// Collective over the team, whose ranks the grid arranges: use `array.layout().places()`, or
/// `grid<2>{}.over(team.size())`. A rank without a place gets a team of one. Throws errc::invalid_argument
/// for a grid with more places than ranks or with open extents, and for a dimension that the grid does not
/// have. MPI_Cart_sub.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, std::size_t N>
[[nodiscard]] team<Backend, Coherence, Protocols> team_along(team<Backend, Coherence, Protocols> team,
                                                             grid<N> const& places, std::size_t d) {
  PGAS_EXPECTS(light, d < N && places.size() > 0 && places.size() <= team.size(),
               throw error(errc::invalid_argument, team.world_rank(team.rank()), "team_along",
                           "a grid of " + places.describe() + " has no lines along dimension " +
                               std::to_string(d) + " in a team of " + std::to_string(team.size()) +
                               "; name a dimension of the grid, and give a grid over the ranks of the team"));
  if (!places.has(team.rank())) return team.split(places.size() + team.rank());
  auto at = places.place(team.rank());
  rank_t const key = std::exchange(at[d], 0);
  return team.split(places.rank(at), key);
}

/// The number of ranks on each node, for `grid<2>{}.in_nodes_of(ranks_per_node(team))`. It is 1 unless all
/// nodes have the same number of ranks, numbered consecutively. The backend defines a node. Collective over
/// the team.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] rank_t ranks_per_node(team<Backend, Coherence, Protocols> team) {
  struct node {
    rank_t first;
    rank_t ranks;
  } mine{-1, 0};
  for (rank_t r = 0; r < team.size(); ++r) {
    if (team.locality_of(r) == locality::remote) continue;
    if (mine.first < 0) mine.first = r;
    ++mine.ranks;
  }
  auto const each = team.all_gather(mine);
  for (rank_t r = 0; r < team.size(); ++r) {
    auto const& theirs = each[static_cast<std::size_t>(r)];
    if (theirs.ranks != each[0].ranks || theirs.first != r - r % each[0].ranks) return 1;
  }
  return each[0].ranks;
}

}  // namespace PGAS_NAMESPACE
