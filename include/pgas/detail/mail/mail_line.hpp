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
  /// `is_close`: see mailbox_of_words.
  template <class State>
  mail_line(Control& control, control_words first, State& state, bool is_close = false)
      : control_(&control),
        looks_(most_at_once(control) < control.size() ? brief_looks : eager_looks),
        first_(first.slots),
        line_(control.office().open(
            {[](void* s, rank_t from, word message) { static_cast<State*>(s)->receive(from, message); },
             &state, is_close})),
        is_close_(is_close) {}
  mail_line(mail_line const&) = delete;
  mail_line& operator=(mail_line const&) = delete;
  ~mail_line() { control_->office().close(line_); }

  /// Sends a message; waits for room if there is none, and receives messages meanwhile.
  void send(rank_t to, word message, std::string_view operation) {
    if (!control_->office().try_send(to, line_, message)) [[unlikely]]
      send_when_room(to, message, operation);
  }
  /// Sends a message without waiting, when there is room: for a receiver.
  void answer(rank_t to, word message) { control_->office().send_later(to, line_, message); }

  /// Receives what has arrived.
  void poll() { control_->office().poll(); }
  /// Waits until a condition holds that messages, or room for one, make true.
  template <std::predicate Condition>
  void wait(Condition&& condition, waiting_for const& why) {
    if (condition()) return;
    wait_on_all(condition, why);
  }
  /// The same for a message of one rank, to which this rank sends one afterwards. It looks for that rank's
  /// mail alone at first, about as long as a message and its answer take between cores far apart: a poll of
  /// all mail takes longer.
  template <std::predicate Condition>
  void exchange(Condition&& condition, rank_t with, waiting_for const& why) {
    if (condition()) return;
    if (!is_close_) control_->office().will_send(with);
    for (int messages = 0; messages < most_messages && control_->office().expect(with, looks_); ++messages) {
      if (condition()) return;
    }
    wait_on_all(condition, why);
  }

 private:
  static constexpr int brief_looks = 8;  ///< where ranks share cores, and the awaited one may need this core
  static constexpr int eager_looks = 2000;
  static constexpr int most_messages = 16;  ///< of one rank, before this rank looks for the others' mail

  template <class Condition>
  [[gnu::noinline]] void wait_on_all(Condition&& condition, waiting_for const& why) {
    poll();
    if (condition()) return;
    control_->wait_until(
        control_->slot(control_->rank(), first_, control_->rank()), [&](word) { return condition(); }, why);
  }
  [[gnu::noinline]] void send_when_room(rank_t to, word message, std::string_view operation) {
    bool sent = false;
    wait([&] { return sent = sent || control_->office().try_send(to, line_, message); },
         {.operation = operation, .awaited = group(&to, 1)});
  }

  Control* control_;
  int looks_;
  std::size_t first_;
  std::size_t line_;
  bool is_close_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
