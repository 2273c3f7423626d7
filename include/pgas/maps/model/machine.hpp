// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::map_model {

/// The lengths of the messages of the six maps, in words of 64 bits.
///
/// The thesis gives the update request and the answer (section 3.5.2). The others count the sender, the kind,
/// the key, the value and the sequence number, as far as a message has them.
struct message_lengths {
  double lookup_request = 3;    ///< to a server
  double update_request = 4;    ///< to a server, with the value
  double answer = 1;            ///< a value, a sequence number or an acknowledgement, to the one that waits
  double sequence_request = 3;  ///< for the number of an update or a lookup
  double update = 5;            ///< to a replica, with its number
  double acknowledgement = 2;   ///< with the key
  double all_acknowledged = 3;  ///< from the issuer of an update to all replicas
  double invalidation = 3;      ///< from a server to a client with a copy
  double vote_request = 3;      ///< to all replicas
  double vote = 2;              ///< of one replica, with the key
  double commit = 4;            ///< to all replicas, with the value
};

/// A machine whose cores have no shared memory and send words into each other's queues, by its costs in
/// cycles. The names in brackets are those of the thesis. Source: Shahmirzadi 2014, tables 3.1 and 3.2.
struct machine {
  double send_start = 8;        ///< of a message, before its words
  double send_word = 1;         ///< of each word
  double receive_word = 2;      ///< of each word
  double interrupt = 138;       ///< to enter and leave a handler
  double wire = 16;             ///< from the sender's queue to the receiver's (L)
  double select_of_two = 17;    ///< choice of one of a power of two servers
  double select_of_other = 90;  ///< choice of one of another number of servers
  bool sends_to_many = false;   ///< true: a broadcast costs its sender as much as one message
  double frequency = 1.2e9;     ///< cycles a second
  message_lengths words{};      ///< of the messages

  /// o_send
  [[nodiscard]] constexpr double send(double length) const noexcept {
    return send_start + send_word * length;
  }
  /// o_rcv: by a rank that waits for the message.
  [[nodiscard]] constexpr double receive(double length) const noexcept { return receive_word * length; }
  /// o_arcv: by an interrupt.
  [[nodiscard]] constexpr double receive_at_once(double length) const noexcept {
    return interrupt + receive(length);
  }
  /// o_bcast and o_mcast: to a number of ranks, which is an average and need not be whole.
  [[nodiscard]] constexpr double send_to(double ranks, double length) const noexcept {
    if (ranks <= 0) return 0;
    return send(length) * (sends_to_many ? 1 : ranks);
  }
  /// o_sel
  [[nodiscard]] constexpr double select(int servers) const noexcept {
    bool const is_power_of_two = servers > 0 && (servers & (servers - 1)) == 0;
    return is_power_of_two ? select_of_two : select_of_other;
  }
  /// T_rtt(send, rcv)
  [[nodiscard]] constexpr double round_trip(double request, double reply) const noexcept {
    return send(request) + receive(request) + send(reply) + receive(reply) + 2 * wire;
  }
  /// T_rtt(bcast, arcv) and T_rtt(mcast, arcv): until the last reply has come.
  [[nodiscard]] constexpr double round_trip_of(double ranks, double request, double reply) const noexcept {
    if (ranks <= 0) return 0;
    return send_to(ranks, request) + receive_at_once(request) + send(reply) + receive(reply) + 2 * wire;
  }
};

/// Tilera's TILE-Gx8036, as measured in the thesis.
inline constexpr machine tile_gx{};

/// The same with interrupts that cost four cycles.
inline constexpr machine intermediate{.interrupt = 4};

/// The same with such interrupts and a broadcast in hardware.
inline constexpr machine ideal{.interrupt = 4, .sends_to_many = true};

}  // namespace PGAS_NAMESPACE::map_model
