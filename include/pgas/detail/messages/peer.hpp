// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/messages/records.hpp>

namespace PGAS_NAMESPACE::detail::messages {

/// The kinds of letters. Those of Ferreras have his names beside them.
enum class letter_kind : std::uint8_t {
  ask,     ///< RTS: tag, length, and all bytes of a short message
  clear,   ///< CTS: the place for the bytes, or 0 if the receiver has them
  hold,    ///< NCTSD: the receiver knows the envelope, and clears the message later
  refuse,  ///< NCTS: the receiver has forgotten the envelope
  again,   ///< resend all, with a new age
  data,    ///< bytes for a place
  eager,   ///< tag, length and the first bytes of a message on a credit
  more,    ///< its next bytes
  credit,  ///< nothing but the credit that each letter may carry
  recall,  ///< asks for unused credit back
  yield    ///< gives unused credit back
};

/// The head of each letter, 16 bytes.
struct letter_head {
  letter_kind kind{};
  std::uint8_t age = 0;       ///< ask, refuse, again
  std::uint16_t request = 0;  ///< ask and its answers: the sender's number of the message
  std::uint32_t credit = 0;   ///< units of 16 bytes that the receiver of this letter may send at once
  word argument = 0;          ///< a tag, a place, or units of credit
};
static_assert(sizeof(letter_head) == 16);

/// The bytes of credit in a unit.
inline constexpr std::size_t credit_unit = 16;

/// An answer that waits for room in the mailbox.
struct answer {
  letter_kind kind{};
  std::uint8_t age = 0;
  std::uint16_t request = 0;
  word place = 0;
};

/// The state of a messenger for one other rank: constant memory, in both directions.
///
/// A sender has at most `most_asked` questions without an answer at one receiver. So `answers` has room for
/// all answers that may have to wait: it is the emergency memory, which the receiver has from the start.
struct peer {
  static constexpr std::uint8_t most_asked = 4;

  // towards the peer
  chain<request> queue;        ///< sends without an answer, in their order: the pending send queue
  chain<request> streams;      ///< cleared sends
  request* leaving = nullptr;  ///< the send whose next bytes leave on a credit
  std::size_t credit = 0;      ///< bytes that may leave at once
  std::uint8_t age_out = 0;    ///< the peer's age for this rank, as far as this rank knows
  std::uint8_t asked = 0;      ///< questions without an answer
  bool owes_yield = false;     ///< the peer wants its credit back

  // from the peer
  sink* coming = nullptr;        ///< the place of the message that comes on a credit
  std::size_t granted = 0;       ///< bytes that are reserved for the peer
  std::size_t owed = 0;          ///< the part of them that the peer does not know of yet
  std::uint8_t age_in = 0;       ///< counts the restarts of the peer's queue
  bool has_failed = false;       ///< a question of this age was refused for want of memory
  bool owes_again = false;       ///< the peer is to ask again
  bool owes_recall = false;      ///< the peer is to give credit back
  std::uint16_t clears_due = 0;  ///< receives that have taken a held message, before the peer knows
  std::uint8_t first_answer = 0;
  std::uint8_t answers_left = 0;
  std::array<answer, most_asked> answers;

  void push(answer one) noexcept {
    answers[(first_answer + answers_left) % most_asked] = one;
    ++answers_left;
  }
  [[nodiscard]] answer const& front() const noexcept { return answers[first_answer]; }
  void pop() noexcept {
    first_answer = static_cast<std::uint8_t>((first_answer + 1) % most_asked);
    --answers_left;
  }
};

}  // namespace PGAS_NAMESPACE::detail::messages
