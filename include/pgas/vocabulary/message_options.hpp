// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/detail/process/setting.hpp>

namespace PGAS_NAMESPACE {

/// The bounds of a messenger on each rank; all ranks of a team choose the same.
struct message_options {
  /// The most bytes that a rank holds for messages; PGAS_MESSAGE_BYTES in the environment.
  std::size_t budget = 4U << 20U;
  /// The longest message that travels inside its question; the mailbox bounds it, too.
  std::size_t short_bytes = 1024;
  /// The longest message that may travel at once on a credit. A longer one waits for its receiver's answer.
  std::size_t eager_bytes = 128U << 10U;
  /// The records of requests that a rank has, at most 65535.
  std::size_t requests = 256;

  /// The defaults, with the budget of PGAS_MESSAGE_BYTES if it is set.
  [[nodiscard]] static message_options from_environment() {
    message_options o;
    if (auto const given = detail::setting::variable("PGAS_MESSAGE_BYTES"); given.given()) {
      o.budget = static_cast<std::size_t>(
          given.whole("a number of bytes", 1, std::numeric_limits<std::int64_t>::max()));
    }
    return o;
  }
};

/// The messages that a messenger has sent so far, by the steps of its protocol.
struct message_counts {
  std::uint64_t asked = 0;     ///< request to send, RTS
  std::uint64_t cleared = 0;   ///< clear to send, CTS
  std::uint64_t held = 0;      ///< not clear for delivery, NCTSD
  std::uint64_t refused = 0;   ///< not clear to send, NCTS
  std::uint64_t recalled = 0;  ///< resend all
  std::uint64_t eager = 0;     ///< messages that left at once, on a credit
  std::uint64_t letters = 0;   ///< all letters in the mailbox
};

/// The two forms of the protocol.
enum class message_form {
  tagged,   ///< for data: receives may take messages in any order, so all that wait are asked for
  control,  ///< for control data, which are received in order: a refused sender asks for nothing else
};

}  // namespace PGAS_NAMESPACE
