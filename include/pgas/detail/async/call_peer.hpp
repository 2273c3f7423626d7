// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/detail/async/call_record.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A long call that its sender keeps until the receiver has asked for it.
struct long_call {
  word ticket;
  std::size_t lane;
  std::vector<word> text;
};

/// The place where the pieces of a long call arrive.
struct call_landing {
  word ticket = 0;  ///< of its sender; 0: no call arrives here
  rank_t from = 0;
  std::vector<word> text;

  [[nodiscard]] bool is_free() const noexcept { return ticket == 0; }
  [[nodiscard]] bool is_complete() const noexcept {
    return !text.empty() && text.size() == call_head::of(text[0]).words;
  }
};

/// The calls of one lane between this rank and another one.
struct call_lane {
  call_stack calls;         ///< for a message, and for room
  std::vector<word> piece;  ///< the beginning of a call of that rank
  std::size_t room = 0;     ///< words of this rank there
  std::size_t owed = 0;     ///< words of that rank here
  std::size_t sent = 0;     ///< words already sent of the call that is sent in pieces
};

/// The state that this rank keeps for another one.
struct call_peer {
  std::array<call_lane, 2> lanes;
  call_queue control;            ///< answers, and records that need no room
  call_queue input;              ///< calls of its program that wait here
  std::vector<long_call> large;  ///< calls that this rank has offered
  std::vector<word> cleared;     ///< tickets of those for which that rank has asked, at most one per lane
  std::size_t landed = 0;        ///< words of the first of these that have been sent
  std::size_t held = 0;          ///< calls of its functions that wait here
  bool is_reached = true;        ///< this rank copies from its memory, unless that has failed
  bool is_full = false;          ///< its functions do not begin, as far as this rank knows
  bool told_full = false;        ///< the last state that this rank has reported
  bool is_busy = false;          ///< it is in the list of those to which something is to be sent
  bool is_waiting = false;       ///< it is in the list of those whose calls wait

  /// Returns whether everything has been sent that needs no message of that rank.
  [[nodiscard]] bool is_sent() const noexcept {
    return lanes[0].calls.is_empty() && lanes[1].calls.is_empty() && control.is_empty() &&
           first_cleared() == nullptr;
  }
  /// The long call that is being sent, or null.
  [[nodiscard]] long_call const* first_cleared() const noexcept {
    if (cleared.empty()) return nullptr;
    return &*std::find_if(large.begin(), large.end(),
                          [this](long_call const& c) { return c.ticket == cleared.front(); });
  }
  void drop_cleared() {
    large.erase(large.begin() + (first_cleared() - large.data()));
    cleared.erase(cleared.begin());
    landed = 0;
  }
  /// Returns whether a long call of a lane has not been sent.
  [[nodiscard]] bool has_long(std::size_t lane) const noexcept {
    return std::any_of(large.begin(), large.end(), [lane](long_call const& c) { return c.lane == lane; });
  }
};

}  // namespace PGAS_NAMESPACE::detail
