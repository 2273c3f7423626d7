// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/detail/process/setting.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// A rank's actions between two polls of an awaited word, once the first few polls have not ended the wait.
///
/// PGAS_WAIT or --pgas-wait chooses the policy when a job starts. It is not a type: such a wait has already
/// lost more time than the choice takes, and the store that ends the wait is the same. With each policy a
/// wait notices the job's failure, its deadline, and ranks that wait for each other.
///
/// A store to an awaited word wakes the ranks that sleep on it (detail::bell), where the words lie in shared
/// memory and the system has membarrier(2). Elsewhere sleeps are timed: an eighth of the time waited so far,
/// and at most a millisecond.
enum class wait_policy {
  adaptive,  ///< spins for a while if each rank has a core, then yields, then sleeps: the default
  spin,      ///< keeps its core and polls: the fastest answer; use it with a core for each rank
  yield,     ///< gives up the core between two polls and never sleeps: use it when ranks share cores
  park,      ///< sleeps after a few microseconds: use it when the cores have other work
};

/// The policies' names, in the order of the enumeration.
inline constexpr std::array<std::string_view, 4> wait_policy_names{"adaptive", "spin", "yield", "park"};

/// The policy of that name. Throws errc::invalid_argument if there is none.
[[nodiscard]] inline wait_policy wait_policy_named(std::string_view name) {
  return static_cast<wait_policy>(detail::setting("wait_policy_named", name).one_of(wait_policy_names));
}

namespace detail {

/// The policy that PGAS_WAIT names, if it is set.
[[nodiscard]] inline wait_policy wait_policy_from_environment() {
  auto const given = setting::variable("PGAS_WAIT");
  return given.given() ? static_cast<wait_policy>(given.one_of(wait_policy_names)) : wait_policy::adaptive;
}

}  // namespace detail
}  // namespace PGAS_NAMESPACE
