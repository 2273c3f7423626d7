// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::messages {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::messages
