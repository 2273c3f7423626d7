// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The control of a team whose checker compares the ranks' calls of collectives at their beginning.
///
/// `compare_call(call, label)` says that this rank begins a collective; `label` names the window of a fence.
/// It throws errc::mismatch, with both lines, if another rank's call of the same number differs. It waits for
/// no rank.
template <class C>
concept comparing_control = control<C> && requires(C const& c, collective_call const& call,
                                                   std::string_view label) { c.compare_call(call, label); };

/// Tells the checker of a collective that begins. Free if the control has no checker.
template <class C>
[[gnu::always_inline]] inline void compare_call([[maybe_unused]] C const& of,
                                                [[maybe_unused]] collective_call const& call,
                                                [[maybe_unused]] std::string_view label = {}) {
  if constexpr (comparing_control<C>) of.compare_call(call, label);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
