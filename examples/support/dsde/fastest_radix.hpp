// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <pgas/pgas.hpp>

namespace example::dsde {

/// The number of ranks over which a round of a dissemination spreads, 2, 3, 4 or 8, with which `pass(n)` is
/// fastest here: small where the gap between messages is long, large where the latency is. Collective.
template <class Team, class Pass>
pgas::rank_t fastest_radix(Team const& team, Pass const& pass) {
  pgas::rank_t fastest = 2;
  double least = std::numeric_limits<double>::max();
  for (pgas::rank_t const n : {2, 3, 4, 8}) {
    pass(n);
    auto const begin = team.now();
    for (int again = 0; again < 8; ++again) pass(n);
    std::chrono::duration<double> const mine = team.now() - begin;
    double const slowest = team.all_reduce(mine.count(), pgas::op::max{});
    if (slowest < least) fastest = n;
    least = std::min(least, slowest);
  }
  return fastest;
}

}  // namespace example::dsde
