// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// An epoch hands a boundary to its protocol, so that *when* calls *which copy* without knowing it.
///
/// The protocol calls `publish(targets)` immediately before its first signal to those ranks. It calls
/// `refresh(targets)` immediately after it has seen their signals. Nothing else ever calls a coherence
/// policy. The effect of the two calls depends on the epoch (see window_boundary); a protocol must not care.
///
/// Payload far away arrives later than it was put, but control words of this rank's own node change at once.
/// So publish settles what a signal promises, wherever the signalled word lies:
///   publish(everyone)   this rank's puts to all parts have arrived. Each rank that learns of the signal,
///   also
///                       from a third rank, finds them: fence, unlock_all, sync
///   publish(targets)    its puts to those parts have arrived, or, if the signal tells each target of its own
///                       part only, arrive before the signal does. Puts to other parts may be under way:
///                       complete, unlock of a part, flush, signal
///   no publish          barriers and collectives of a team promise nothing about puts. A rank that leaves
///                       the barrier finds puts that were flushed before it, near or far.
/// A store to a near element with release order promises nothing about far puts either: flush them first.
template <class B>
concept boundary = requires(B& b, group targets) {
  b.publish(targets);
  b.publish(everyone);
  b.refresh(targets);
  b.refresh(everyone);
};

/// The boundary of protocols that guard no payload, such as the barrier of a team.
struct no_boundary {
  /// Does nothing.
  static constexpr void publish(group) noexcept {}
  static constexpr void publish(everyone_t) noexcept {}
  /// Does nothing.
  static constexpr void refresh(group) noexcept {}
  static constexpr void refresh(everyone_t) noexcept {}
};
static_assert(boundary<no_boundary>);

}  // namespace PGAS_NAMESPACE
