// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/machines/scc/shrink.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// True if the oracle has ended the run.
inline bool is_report(error const& e) { return e.code() == errc::race || e.code() == errc::stale_copy; }

/// Runs a program by `how.schedules` schedules, the first as the options say, the others by seeds: random
/// orders, priorities, and caches that act unasked. Returns the last run's result.
///
/// `run(options)` makes one run and throws its failure. At the first report of the oracle the search stops.
/// The error then also names the seed, and the fewest changes of turns that show the fault. Other failures
/// end the search as they are. Costs: a run for each schedule, and at a report at most 200 more. Source:
/// random priorities find a fault of depth d with a known chance, PCT (Burckhardt and others 2010); the
/// changes by ddmin, see fewest_switches.
template <class Run>
auto run_schedules(pgas::scc::options const& how, Run const& run) {
  for (unsigned i = 0;; ++i) {
    pgas::scc::options one = how;
    one.schedules = 1;
    if (i != 0) one.disturb(how.seed + i);
    try {
      auto result = run(one);
      if (i + 1 >= how.schedules) return result;
    } catch (error const& found) {
      if (!is_report(found)) throw;
      unsigned left = 200;
      auto const fails = [&](pgas::scc::options const& again) {
        if (left == 0) return false;
        --left;
        try {
          run(again);
        } catch (error const& e) {
          return e.code() == found.code();
        }
        return false;
      };
      auto const changes = pgas::scc::fewest_switches(one, fails);
      throw error(
          static_cast<errc>(found.code().value()), found.rank(),
          found.description() + "; found by schedule " + std::to_string(i + 1) + " of " +
              std::to_string(how.schedules) +
              (i == 0 ? std::string() : ", which PGAS_SEED=" + std::to_string(one.seed) + " repeats") +
              ", and shown by: " + pgas::scc::to_string(changes));
    }
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
