// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/support/shared_owner.hpp>
#include <pgas/window/collective_operations.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// Starts the collectives of a team: `team.start().broadcast(values)` returns a request.
template <class Backend>
class collective_starter : public collective_operations<collective_starter<Backend>, Backend, true> {
 public:
  /// Made by `team.start()`.
  explicit collective_starter(detail::shared_owner<detail::team_state<Backend>> state) noexcept
      : state_(std::move(state)) {}
  /// The team's, for the library.
  [[nodiscard]] detail::shared_owner<detail::team_state<Backend>> const& state() const noexcept {
    return state_;
  }

 private:
  detail::shared_owner<detail::team_state<Backend>> state_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
