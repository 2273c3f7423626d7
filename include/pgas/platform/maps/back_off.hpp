// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <pgas/concepts/channel.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Lets a rank serve others for a while after its attempt number `attempt` has failed.
///
/// A rank waits longer than all ranks with lower numbers, and twice as long after each attempt. So attempts
/// of two ranks that fail each other drift apart, also where all ranks run at the same speed.
template <channel C>
void back_off(C& channel, unsigned attempt) {
  constexpr std::uint64_t cycles_a_turn = 50;  // of the order of a message and its answer
  auto const turns = (static_cast<std::uint64_t>(channel.rank()) + 1) << std::min(attempt, 10U);
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    channel.charge(cycles_a_turn);
    channel.poll();
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
