// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The messages of one window's protocols, in one mailbox. A message is the number of its line, and a word.
///
/// The office polls while this rank waits. A receiver sends its answer at once, or, if there is no room,
/// keeps it for the next poll. A rank that answers must not wait, since the room may depend on a rank that
/// waits for this one. A small message of one of the first lines is one word of the mailbox, where the
/// mailbox has words. Memory: the mailbox's, and the messages that found no room.
template <mailbox Mailbox>
class mail_office {
 public:
  explicit mail_office(Mailbox m) : mailbox_(std::move(m)) {
    mailbox_.serve([this] { poll(); });
  }
  mail_office(mail_office const&) = delete;
  mail_office& operator=(mail_office const&) = delete;
  ~mail_office() = default;

  [[nodiscard]] std::size_t open(message_receiver receiver) {
    lines_.push_back(receiver);
    return lines_.size() - 1;
  }
  void close(std::size_t line) noexcept { lines_[line] = {}; }

  [[nodiscard]] bool try_send(rank_t to, std::size_t line, word message) {
    if (kept_.empty()) return try_mail(to, {line, message});
    send_kept();
    return !waits_for(to, kept_.size()) && try_mail(to, {line, message});
  }
  void send_later(rank_t to, std::size_t line, word message) {
    if (!try_send(to, line, message)) kept_.push_back({to, {line, message}});
  }

  void poll() {
    if (polls_) return;  // a receiver has called what polls
    scoped_value const now(polls_, true);
    if (!kept_.empty()) send_kept();
    mailbox_.poll(sorting{*this});
  }

  bool expect([[maybe_unused]] rank_t from, [[maybe_unused]] int looks) {
    if constexpr (mailbox_of_words<Mailbox>) {
      if (polls_) return false;
      scoped_value const now(polls_, true);
      return mailbox_.poll_from(from, looks, sorting{*this});
    }
    return false;
  }
  void will_send([[maybe_unused]] rank_t to) noexcept {
    if constexpr (mailbox_of_words<Mailbox>) mailbox_.will_send(to);
  }

 private:
  struct letter {
    std::uint64_t line;
    word message;
  };
  struct kept_letter {
    rank_t to;
    letter what;
  };

  /// Gives each message to the receiver of its line.
  struct sorting {
    mail_office& office;

    void operator()(rank_t from, bytes_in bytes) const {
      letter one;
      std::memcpy(&one, bytes.data(), sizeof one);
      office.give(from, one);
    }
    void operator()(rank_t from, word text) const {
      office.give(from, {text & (lines_in_words - 1), text >> line_bits});
    }
  };
  void give(rank_t from, letter one) {
    auto const to = one.line < lines_.size() ? lines_[one.line] : message_receiver{};
    if (to.receive != nullptr) to.receive(to.state, from, one.message);
  }

  // A letter in a word: the number of its line in the low bits, and its message above.
  static constexpr unsigned line_bits = 8;
  static constexpr word lines_in_words = word{1} << line_bits;

  [[nodiscard]] bool try_mail(rank_t to, letter one) {
    if constexpr (mailbox_of_words<Mailbox>) {
      if (one.line < lines_in_words && one.message <= Mailbox::most_word >> line_bits) {
        word const text = one.message << line_bits | one.line;
        return lines_[one.line].is_close ? mailbox_.try_send_close_word(to, text)
                                         : mailbox_.try_send_word(to, text);
      }
    }
    return mailbox_.try_send(to, std::as_bytes(std::span(&one, 1)));
  }

  /// Returns whether one of the first `count` kept messages is for `to`, so that later ones must stay behind.
  [[nodiscard]] bool waits_for(rank_t to, std::size_t count) const noexcept {
    return std::any_of(kept_.begin(), kept_.begin() + count,
                       [to](kept_letter const& k) { return k.to == to; });
  }
  void send_kept() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_letter const one = kept_[i];
      if (waits_for(one.to, left) || !try_mail(one.to, one.what)) kept_[left++] = one;
    }
    kept_.resize(left);
  }

  Mailbox mailbox_;
  plain_list<message_receiver> lines_;
  plain_list<kept_letter> kept_;
  bool polls_ = false;
};

/// The control of a window with mailed protocols: words, and a post office.
template <control Control, mailbox Mailbox>
class mailed_control : public Control {
 public:
  mailed_control(Control words, Mailbox m)
      : Control(std::move(words)), office_(new mail_office<Mailbox>(std::move(m))) {}

  [[nodiscard]] mail_office<Mailbox>& office() noexcept { return *office_; }

 private:
  std::unique_ptr<mail_office<Mailbox>> office_;
};

/// The control that carries protocols on a backend: its words, with a post office if one of the protocols
/// is mailed. A backend without mailboxes has its words only; a window refuses that.
template <class Backend, bool IsMailed>
struct carrying_control {
  using type = typename Backend::control_type;
};
template <class Backend>
  requires mailbox<typename Backend::mailbox_type>
struct carrying_control<Backend, true> {
  using type = mailed_control<typename Backend::control_type, typename Backend::mailbox_type>;
};

/// The line of one mailed protocol in the post office of its window.
///
/// Words     1 slot of a rank, to which no rank stores, since a wait needs a word. The wait progresses, so
///           the protocol receives messages meanwhile, and checks its condition after each.
/// Memory    none per rank.
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
  /// The same for a message of one rank, to which this rank sends one afterwards. It first polls only that
  /// rank's mail, about as long as a message and its answer take between distant cores: polling all mail
  /// takes longer.
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
  static constexpr int most_messages = 16;  ///< of one rank, before this rank polls the others' mail

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

}  // namespace PGAS_NAMESPACE::detail
