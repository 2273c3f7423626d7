// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// This channel carries messages of a few bits from each rank to each rank, in control words.
///
/// Source: the message channel of RCKMPI, Christgau 2017, section 3.4. There each sender has a section of its
/// own in the memory of each receiver, and numbers its messages.
///
/// Words     two slots of the receiver for each sender, written by the sender only. Place s mod 2 holds
///           message number s.
/// States    A place holds a message and its number. A receiver knows the number of the next message, and
///           looks at its place until that number appears.
/// Differs   from RCKMPI's, where the receiver says that a section is free again. The protocols here never
///           have more than two unreceived messages from one rank to another, and know it from the replies.
///           So no rank waits to send, and no rank must receive before another rank can go on.
/// Memory    2 n slots and n words of private state a rank.
/// Costs     a store to send a message, a load to look for one.
template <control Control>
class word_channel {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 2 * static_cast<std::size_t>(ranks), .cells = 0};
  }

  word_channel(Control& control, control_words first)
      : control_(&control), first_(first.slots), sent_(static_cast<std::size_t>(control.size())) {}

  /// Sends a message. Requires that the receiver has received the last message but one.
  void send(rank_t to, word message) {
    word const number = ++sent_[static_cast<std::size_t>(to)];
    // release: pairs with the acquire load of the receiver; carries everything this rank has done before.
    store_now(place(to, control_->rank(), number), number * messages + message, std::memory_order_release);
  }

  /// The place that the next send to `to` changes.
  auto next_place(rank_t to) { return place(to, control_->rank(), sent_[static_cast<std::size_t>(to)] + 1); }

  /// The place of message `number` from rank `from` to rank `to`.
  auto place(rank_t to, rank_t from, word number) {
    return control_->slot(to, first_ + 2 * static_cast<std::size_t>(from) + number % 2, from);
  }
  /// Returns whether a place with this value holds message `number`.
  static constexpr bool holds(word value, word number) noexcept { return value / messages == number; }
  static constexpr word message_in(word value) noexcept { return value % messages; }

 private:
  static constexpr word messages = 8;  ///< the number of different messages

  Control* control_;
  std::size_t first_;
  std::vector<word> sent_;  ///< the number of messages to each receiver
};

}  // namespace PGAS_NAMESPACE::detail
