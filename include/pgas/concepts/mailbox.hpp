// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The executor of a one-sided operation at its target, and the reader of a protocol's message.
enum class progress {
  hardware,  ///< the memory system
  agent,     ///< a thread that the backend keeps for each rank
  polled,    ///< the target's next blocking call
};

/// A mailbox carries short messages between the ranks of a team, for protocols that consist of messages.
///
/// Messages are bounded, never lost, and ordered from each sender to each receiver. `try_send(to, bytes)`
/// sends at most `max_message_bytes`. It returns false, and sends nothing, if the mailbox has no room.
/// `poll(handler)` calls handler(from, bytes) for messages that have arrived: at least one from each sender
/// that has sent any. It returns the number of calls. A handler may send; it must not poll.
/// `serve(service)` makes this rank progress while it waits, until the mailbox is destroyed. Each wait of
/// this rank's thread calls service() if a message may have arrived, or if room may have come back after a
/// try_send that returned false. The wait then looks at its condition again. Waits are those of every control
/// of the backend, `pause`, and the start and end of the job. A service may poll and send; it must not wait.
/// An empty service ends this.
template <class M>
concept mailbox =
    std::movable<M> && requires(M& m, rank_t to, bytes_in message, void (*handler)(rank_t, bytes_in),
                                std::function<void()> service) {
      { m.try_send(to, message) } -> std::same_as<bool>;
      { m.poll(handler) } -> std::same_as<std::size_t>;
      m.serve(service);
      { M::max_message_bytes } -> std::convertible_to<std::size_t>;
    };

}  // namespace pgas::inline PGAS_ASSERTIONS
