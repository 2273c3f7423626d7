// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/concepts/messenger.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The end of a send or a receive of a messenger, as a request whose value is the envelope: the result of
/// `ended(messenger, request)`.
template <messenger Messenger>
class message_end {
 public:
  /// `ended` calls it.
  message_end(Messenger& of, message_request which) noexcept : of_(&of), which_(which) {}

  /// Returns whether the message has come to its end. Never blocks.
  [[nodiscard]] bool test() {
    if (!envelope_ && of_->is_done(which_)) wait();
    return envelope_.has_value();
  }
  /// Returns when it has.
  void wait() {
    if (!envelope_) envelope_ = of_->wait(which_);
  }
  /// The envelope, once it has ended.
  [[nodiscard]] arrived_message value() const { return *envelope_; }

 private:
  Messenger* of_;
  message_request which_;
  std::optional<arrived_message> envelope_;
};

/// Awaits a message: `auto const from = co_await ended(m, m.start_receive(any_sender, 7, into));`.
///
/// One-sided. Done when a sent message may change, or when a received one is here. A task that is destroyed
/// before waits for it. Requires that the messenger outlives it. Costs a poll of the messenger. MPI: the
/// request of MPI_Isend and MPI_Irecv.
template <messenger Messenger>
[[nodiscard]] message_end<Messenger> ended(Messenger& of, message_request which) noexcept {
  return {of, which};
}

}  // namespace pgas::inline PGAS_ASSERTIONS
