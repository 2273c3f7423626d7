// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What an epoch hands to its protocol, so that *when* calls *which copy* without knowing it.
///
/// The protocol calls `publish(targets)` immediately before its first signal to those ranks, and
/// `refresh(targets)` immediately after it has seen theirs. Nothing else ever calls a coherence
/// policy. What the two do depends on the epoch (see window_boundary); a protocol must not care.
template <class B>
concept boundary = requires(B& b, group targets) {
  b.publish(targets);
  b.publish(everyone);
  b.refresh(targets);
  b.refresh(everyone);
};

/// For protocols that guard no payload, a team's own barrier for one.
struct no_boundary {
  static constexpr void publish(group) noexcept {}
  static constexpr void publish(everyone_t) noexcept {}
  static constexpr void refresh(group) noexcept {}
  static constexpr void refresh(everyone_t) noexcept {}
};
static_assert(boundary<no_boundary>);

}  // namespace pgas::inline PGAS_ASSERTIONS
