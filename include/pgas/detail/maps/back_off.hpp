// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <pgas/concepts/channel.hpp>
#include <pgas/vocabulary/map_traits.hpp>
#include <thread>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Lets a rank serve others for a while after its attempt number `attempt`, counted from 0, has failed.
///
/// The rank and the attempt decide how long, as if at random, up to a bound that doubles with each attempt.
/// So attempts of ranks that fail each other drift apart, also where all ranks run at the same speed. Plain
/// multiples of the rank would meet again: attempt k of rank 1 and attempt k + 1 of rank 0 begin together.
template <channel C>
void back_off(C& channel, unsigned attempt) {
  constexpr std::uint64_t cycles_a_turn = 50;  // of the order of a message and its answer
  auto const bound = static_cast<std::uint64_t>(channel.size()) << std::min(attempt, 10U);
  auto const turns = mixed(static_cast<std::uint64_t>(channel.rank()) << 32U | attempt) % bound;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    channel.charge(cycles_a_turn);
    // Where ranks are more than cores, the rank that must answer may wait for this core.
    if (channel.poll() == 0) std::this_thread::yield();
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
