// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Short messages between the ranks of a team, for protocols that are made of them.
///
/// Ordered from each sender to each receiver, bounded, never lost. `try_send(to, bytes)` is false when
/// there is no room and the message was not sent; at most `max_message_bytes`. `poll(handler)`
/// calls handler(from, bytes) for messages that have arrived, at least one from each sender that has any, and
/// returns how many it handled. A handler may send; it must not poll.
template <class M>
concept mailbox = std::movable<M> && requires(M& m, rank_t to, bytes_in message, void (*handler)(rank_t, bytes_in)) {
  { m.try_send(to, message) } -> std::same_as<bool>;
  { m.poll(handler) } -> std::same_as<std::size_t>;
  { M::max_message_bytes } -> std::convertible_to<std::size_t>;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
