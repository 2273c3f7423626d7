// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// A mailbox carries short messages between the ranks of a team, for protocols that consist of messages.
///
/// Messages are bounded, never lost, and ordered from each sender to each receiver. `try_send(to, bytes)`
/// sends at most `max_message_bytes`. It returns false, and sends nothing, if the mailbox has no room.
/// `poll(handler)` calls handler(from, bytes) for messages that have arrived: at least one from each sender
/// that has sent any. It returns the number of calls. A handler may send; it must not poll.
template <class M>
concept mailbox =
    std::movable<M> && requires(M& m, rank_t to, bytes_in message, void (*handler)(rank_t, bytes_in)) {
      { m.try_send(to, message) } -> std::same_as<bool>;
      { m.poll(handler) } -> std::same_as<std::size_t>;
      { M::max_message_bytes } -> std::convertible_to<std::size_t>;
    };

}  // namespace pgas::inline PGAS_ASSERTIONS
