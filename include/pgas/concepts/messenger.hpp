// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// A receive from this rank matches messages from all ranks.
inline constexpr rank_t any_sender = -1;
/// A receive with this tag matches messages with every tag. No message has it.
inline constexpr word any_tag = ~word{0};

/// The envelope of a message that has arrived.
struct arrived_message {
  rank_t from = 0;        ///< the sender
  word tag = 0;           ///< what the sender has called it
  std::size_t bytes = 0;  ///< of its contents

  friend bool operator==(arrived_message const&, arrived_message const&) = default;
};

/// The number of a send or a receive that has been started. `wait` ends it.
struct message_request {
  std::uint32_t place = 0;  ///< in the table of requests that have not ended
  std::uint32_t use = 0;    ///< of the place, so that a request that has ended is recognized
};

/// The bytes that a messenger holds on one rank.
struct message_memory {
  std::size_t budget = 0;  ///< the bound
  std::size_t now = 0;     ///< its requests, envelopes, buffers, what credits reserve, and its state
  std::size_t most = 0;    ///< the most that it has held
};

/// A messenger carries messages of any length between the ranks of a team, and holds a bounded number of
/// bytes for them.
///
/// No message is dropped, and no shortage of memory ends the program. Two messages of one sender that match
/// one receive are received in their order.
/// `start_send(to, tag, message)` leaves `message` to the messenger until the request ends.
/// `start_receive(from, tag, into)` receives the next message of a sender with a tag; `any_sender` and
/// `any_tag` match all. Both wait if all request records are in use. `is_done(request)` returns whether a
/// request has completed. `wait(request)` ends the request: a send when `message` may change, a receive when
/// all bytes are in `into`. `send` and `receive` start a request and wait for it.
/// A send may end only when its receive has been posted, as MPI_Send may. `poll()` carries messages on, and
/// each wait of this rank in the library does. Source: Ferreras 2008, sections 3.4 and 4.3.
template <class M>
concept messenger = std::movable<M> && requires(M& m, M const& cm, rank_t peer, word tag, bytes_in message,
                                                bytes_out into, message_request request) {
  { M::name } -> std::convertible_to<std::string_view>;
  { cm.rank() } -> std::same_as<rank_t>;
  { cm.size() } -> std::same_as<rank_t>;
  { m.start_send(peer, tag, message) } -> std::same_as<message_request>;
  { m.start_receive(peer, tag, into) } -> std::same_as<message_request>;
  { m.is_done(request) } -> std::same_as<bool>;
  { m.wait(request) } -> std::same_as<arrived_message>;
  m.send(peer, tag, message);
  { m.receive(peer, tag, into) } -> std::same_as<arrived_message>;
  m.poll();
  { cm.memory() } -> std::same_as<message_memory>;
};

}  // namespace PGAS_NAMESPACE
