// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Messages of a few bits from each rank to each rank, for protocols that are made of them: a mailbox of control words.
///
/// Source: the message channel of RCKMPI, Christgau 2017, section 3.4: each sender has a section of its own in the
/// memory of each receiver, and numbers what it writes there.
///
/// Words     two slots of the receiver for each sender, written by the sender only: its messages number s, s + 2, ...
///           lie in place s mod 2.
/// States    a place holds a message's number and the message. A receiver knows the number of the next one, and looks
///           at the place where it will be until that number is there.
/// Differs   from RCKMPI's, where the receiver says that a section is free again: protocols that use this have at most
///           two messages on one way that were not received, and know it by what the receiver sends them. So nobody
///           waits to send, and no rank need receive for another one to go on.
/// Memory    2 n slots and n words of private state a rank.
template <control Control>
class word_channel {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 2 * static_cast<std::size_t>(ranks), .cells = 0};
  }

  word_channel(Control& control, control_words first)
      : control_(&control), first_(first.slots), sent_(static_cast<std::size_t>(control.size())) {}

  /// Requires that the receiver has received the last message but one.
  void send(rank_t to, word message) {
    word const number = ++sent_[static_cast<std::size_t>(to)];
    // release: pairs with the acquire of whoever receives it; carries what this rank has done before.
    place(to, control_->rank(), number).store(number * messages + message, std::memory_order_release);
  }

  /// Where message `number` from there will be.
  auto place(rank_t to, rank_t from, word number) {
    return control_->slot(to, first_ + 2 * static_cast<std::size_t>(from) + number % 2, from);
  }
  /// Whether what is in its place is message `number`.
  static constexpr bool holds(word value, word number) noexcept { return value / messages == number; }
  static constexpr word message_in(word value) noexcept { return value % messages; }

 private:
  static constexpr word messages = 8;  ///< how many different ones there may be

  Control* control_;
  std::size_t first_;
  std::vector<word> sent_;  ///< per receiver, how many messages
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
