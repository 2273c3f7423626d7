// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/pgas.hpp>

#include "meter.hpp"

namespace bench {

/// The main function of our programs of rows: measure(team, meter) on each rank of process_map, two by
/// default.
template <class Measure>
void measure_on_ranks(int argc, char** argv, Measure const& measure) {
  settings const given(argc, argv);
  meeting_place const place(given);
  pgas::run<pgas::backends::process_map>(given.ranks, [&](auto& team) {
    meter m(given, place, team.rank(), team.size(), [&team] { team.barrier(); });
    measure(team, m);
    m.end();
  });
}

}  // namespace bench
