// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdlib>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS {

/// What a rank does between two looks at what it waits for, once the first few looks have not ended the wait.
///
/// Chosen when a job starts, by PGAS_WAIT or --pgas-wait, and not as a type: a wait that has come so far has lost more
/// time than the choice takes, and what ends waits, a store, knows nothing of it. Whatever is chosen, a wait notices
/// that the job has failed, that its deadline has passed, and that ranks wait for each other.
///
/// Sleeps are timed: an eighth of the time waited so far, and a millisecond at most. Nobody wakes a sleeper: whoever
/// signals would have to look whether somebody sleeps, after a full fence, at each store to a control word, and would
/// lose more by that than a sleeper gains.
enum class wait_policy {
  adaptive,  ///< spins a while if each rank has a core, then yields, then sleeps: the default
  spin,      ///< looks on and keeps its core: the soonest answer however late it comes; for a core for each rank
  yield,     ///< lets others have the core between two looks, and never sleeps: for ranks that share cores
  park,      ///< sleeps after a few microseconds: for cores that have other work to do
};

inline constexpr std::array<std::string_view, 4> wait_policy_names{"adaptive", "spin", "yield", "park"};

/// The policy of that name. Throws errc::invalid_argument if there is none.
[[nodiscard]] inline wait_policy wait_policy_named(std::string_view name) {
  std::string all;
  for (std::size_t i = 0; i < wait_policy_names.size(); ++i) {
    if (wait_policy_names[i] == name) return static_cast<wait_policy>(i);
    all += " " + std::string(wait_policy_names[i]);
  }
  throw error(errc::invalid_argument, -1, "no way to wait is called '" + std::string(name) + "'; there are" + all);
}

namespace detail {

/// What PGAS_WAIT names, if it is set.
[[nodiscard]] inline wait_policy wait_policy_from_environment() {
  char const* const name = std::getenv("PGAS_WAIT");
  return name == nullptr || *name == '\0' ? wait_policy::adaptive : wait_policy_named(name);
}

}  // namespace detail
}  // namespace pgas::inline PGAS_ASSERTIONS
