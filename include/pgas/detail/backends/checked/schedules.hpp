// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The runs of a checked program: how many, and by which seeds of delays.
struct schedules {
  std::uint64_t seed = 0;  ///< of the first run's delays; 0: it has none. Run i has `seed + i`
  unsigned runs = 1;       ///< until the first report

  /// Those of this thread's next launches. At first from the environment: PGAS_SEED and PGAS_SCHEDULES.
  [[nodiscard]] static schedules& chosen();
  [[nodiscard]] static schedules from_environment() {
    schedules s;
    if (auto const seed = setting::variable("PGAS_SEED"); seed.given())
      s.seed = seed.whole("a number", 0, ~std::uint64_t{0} >> 1U);
    if (auto const runs = setting::variable("PGAS_SCHEDULES"); runs.given())
      s.runs = static_cast<unsigned>(runs.whole("a number of schedules", 1, 1'000'000));
    return s;
  }

 private:
  struct of_thread;
};
struct schedules::of_thread {
  static constexpr std::string_view shared_name = "schedules of checked";
  schedules chosen = from_environment();
};
inline schedules& schedules::chosen() { return one_per_thread<of_thread>().chosen; }

/// Runs a program by all schedules, and returns the last run's result. `run(seed)` makes one run.
///
/// The first report ends the search, and its error also names the run and the seed. Other failures end the
/// search as they are. Costs: a run for each schedule.
template <class Run>
auto run_schedules(schedules const& how, Run const& run) {
  for (unsigned i = 0;; ++i) {
    std::uint64_t const seed = how.seed + i;
    try {
      auto result = run(seed);
      if (i + 1 >= how.runs) return result;
    } catch (error const& found) {
      if (how.runs <= 1 || found.code() != errc::race) throw;
      throw error(errc::race, found.rank(),
                  found.description() + "; found by schedule " + std::to_string(i + 1) + " of " +
                      std::to_string(how.runs) +
                      (seed == 0 ? std::string()
                                 : ", whose delays PGAS_SEED=" + std::to_string(seed) + " makes again"));
    }
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
