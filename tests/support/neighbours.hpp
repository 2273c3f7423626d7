// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/rank.hpp>

namespace pgas_test {

/// The next rank of a ring, and the one before.
template <class Team>
pgas::rank_t right_of(Team const& team) {
  return (team.rank() + 1) % team.size();
}
template <class Team>
pgas::rank_t left_of(Team const& team) {
  return (team.rank() + team.size() - 1) % team.size();
}

}  // namespace pgas_test
