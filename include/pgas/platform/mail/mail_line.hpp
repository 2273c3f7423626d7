// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/concepts/protocol.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The line of one mailed protocol in the post office of its window.
///
/// Words     1 slot of a rank, to which no rank stores: a wait names a word. The wait progresses, so the
///           protocol receives messages meanwhile, and it looks again after each.
/// Memory    nothing for each rank.
template <mailing_control Control>
class mail_line {
 public:
  static constexpr control_words words(rank_t) noexcept { return {.slots = 1, .cells = 0}; }

  /// Calls state.receive(from, message) for each message. It may `answer`; it must not wait.
  template <class State>
  mail_line(Control& control, control_words first, State& state)
      : control_(&control),
        first_(first.slots),
        line_(control.office().open(
            {[](void* s, rank_t from, word message) { static_cast<State*>(s)->receive(from, message); },
             &state})) {}
  mail_line(mail_line const&) = delete;
  mail_line& operator=(mail_line const&) = delete;
  ~mail_line() { control_->office().close(line_); }

  /// Sends a message; waits for room if there is none, and receives messages meanwhile.
  void send(rank_t to, word message, std::string_view operation) {
    bool sent = false;
    wait([&] { return sent = sent || control_->office().try_send(to, line_, message); },
         {.operation = operation, .awaited = group(&to, 1)});
  }
  /// Sends a message without waiting, when there is room: for a receiver.
  void answer(rank_t to, word message) { control_->office().send_later(to, line_, message); }

  /// Receives what has arrived.
  void poll() { control_->office().poll(); }
  /// Waits until a condition holds that messages, or room for one, make true.
  template <std::predicate Condition>
  void wait(Condition&& condition, waiting_for const& why) {
    if (condition()) return;
    poll();
    if (condition()) return;
    control_->wait_until(
        control_->slot(control_->rank(), first_, control_->rank()), [&](word) { return condition(); }, why);
  }

 private:
  Control* control_;
  std::size_t first_;
  std::size_t line_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
