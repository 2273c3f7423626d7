// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE {

/// The sender and the length of a message that a rank has received.
struct received {
  rank_t from = 0;        ///< the sender
  std::size_t words = 0;  ///< of the message
};

/// The work of a rank for each message of a queue. It may send; it must not receive.
using message_handler = std::function<void(rank_t from, std::span<word const> message)>;

/// A channel carries messages of words into queues of the receiving ranks, as the user network of Tilera's
/// TILE-Gx does. No message is lost. Messages from one rank to one queue arrive in their order.
///
/// `send(to, queue, message)` returns when the message is on its way, and waits while the queue has no room.
/// `multicast(to, queue, message)` sends one message to several ranks. A message has 1 to `most_words` words.
/// `receive(queue, into)` waits for the next message of a queue, and writes its words into `into`, where all
/// of them fit. `try_receive(queue, into)` returns nothing if no message has arrived.
/// `handle(queue, handler)` gives the messages of a queue to a handler from then on, one after the other. An
/// empty handler ends that. Handlers run in `poll()`, which returns the number of messages, and in each wait
/// of this rank in the library. Where `interrupts` is true, they also run as soon as a message arrives.
/// `receive` and `try_receive` also take messages of a handled queue, if their handler has not had them.
/// `hold()` returns an object, and no handler runs while it lives.
/// `charge(cycles)` takes the time of a computation on a machine in virtual time, and nothing elsewhere.
///
/// A program that lets full queues wait for each other hangs, as on the hardware.
/// Source: Shahmirzadi 2014, sections 3.2 and 3.3.
template <class C>
concept channel =
    std::movable<C> && requires(C& c, C const& cc, rank_t to, std::size_t queue, std::span<rank_t const> many,
                                std::span<word const> message, std::span<word> into, message_handler handler,
                                std::uint64_t cycles) {
      { cc.rank() } -> std::same_as<rank_t>;
      { cc.size() } -> std::same_as<rank_t>;
      c.send(to, queue, message);
      c.multicast(many, queue, message);
      { c.receive(queue, into) } -> std::same_as<received>;
      { c.try_receive(queue, into) } -> std::same_as<std::optional<received>>;
      c.handle(queue, handler);
      { c.poll() } -> std::same_as<std::size_t>;
      c.hold();
      c.charge(cycles);
      { C::queues } -> std::convertible_to<std::size_t>;
      { C::most_words } -> std::convertible_to<std::size_t>;
      { C::interrupts } -> std::convertible_to<bool>;
    };

}  // namespace PGAS_NAMESPACE
