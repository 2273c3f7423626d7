// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A queue of messages of words, in one ring. The ring doubles when it is full, and never shrinks, so a queue
/// whose senders are bounded allocates no more after a while.
class message_queue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return first_ == end_; }
  /// The words of all messages, without their heads.
  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  /// The sender and the length of the first message. Requires one.
  [[nodiscard]] received front() const noexcept {
    word const head = at(first_);
    return {static_cast<rank_t>(head >> length_bits), static_cast<std::size_t>(head & longest)};
  }

  /// Appends a message.
  void push(rank_t from, std::span<word const> message) {
    while (ring_.size() - (end_ - first_) < message.size() + 1) grow();
    at(end_++) = static_cast<word>(from) << length_bits | message.size();
    for (word const w : message) at(end_++) = w;
    words_ += message.size();
  }
  /// Removes the first message and writes its words to the front of `into`. Requires room for all of them.
  received pop(std::span<word> into) noexcept {
    received const first = front();
    ++first_;
    for (std::size_t i = 0; i < first.words; ++i) into[i] = at(first_++);
    words_ -= first.words;
    return first;
  }

 private:
  static constexpr unsigned length_bits = 32;
  static constexpr word longest = (word{1} << length_bits) - 1;

  [[nodiscard]] word& at(std::size_t i) noexcept { return ring_[i & (ring_.size() - 1)]; }
  [[nodiscard]] word at(std::size_t i) const noexcept { return ring_[i & (ring_.size() - 1)]; }
  void grow() {
    std::vector<word> larger(2 * ring_.size());
    for (std::size_t i = first_; i != end_; ++i) larger[i & (larger.size() - 1)] = at(i);
    ring_.swap(larger);
  }

  std::vector<word> ring_ = std::vector<word>(32);  ///< its size is a power of two
  std::size_t first_ = 0;                           ///< counts the words that have left
  std::size_t end_ = 0;                             ///< counts the words that have come
  std::size_t words_ = 0;
};

/// A channel of messages that a backend's mailbox carries.
///
/// Source: the user network of TILE-Gx (Shahmirzadi 2014, sections 3.2 and 3.3), with credits as in
/// VIA-like transports.
///
/// States    A message is kept by its sender, or under way in the mailbox, or in a queue of its receiver. A
///           sender has `room` words at each queue of each receiver, and a message uses its words of them
///           when it leaves. When the receiver has removed the message, it owes these words to the sender. It
///           returns them with the next message to that sender, or, when they are half of the room, in a
///           message of their own.
/// Progress  A rank receives messages in `poll`, and in each wait in the library: the mailbox serves this
///           channel. So a full queue does not hold up the other three.
/// Handlers  run one after the other, outside of the mailbox's poll. A send in a handler must not wait. If it
///           finds no room, the channel keeps the message, and later messages to the same queue stay behind
///           it. While `room` words or more are kept, no handler begins.
/// Differs   from the hardware, where the 118 words of a queue are shared by all senders. Here each sender
///           has that many, since credits need no message while a rank sends within its own.
/// Memory    room words and a head for each rank and queue, what is kept, the mailbox's, and one word.
/// Costs     a message of the mailbox for each message, and at most one more for each half of the room.
template <mailbox_backend Backend>
class mailed_channel {
  using control_type = typename Backend::control_type;
  using mailbox_type = typename Backend::mailbox_type;
  struct state;

 public:
  static constexpr std::size_t queues = 4;
  static constexpr std::size_t most_words = mailbox_type::max_message_bytes / sizeof(word) - 1;
  static constexpr bool interrupts = false;
  static constexpr std::size_t usual_room = 118;

  /// The words that this channel needs in its control.
  static constexpr control_words words() noexcept { return {.slots = 1, .cells = 0}; }

  /// `room` is the same on all ranks. Throws errc::invalid_argument if it is less than two messages.
  mailed_channel(Backend b, control_type words, mailbox_type mail, std::size_t room = usual_room)
      : state_(std::make_unique<state>(std::move(b), std::move(words), std::move(mail), room)) {}

  [[nodiscard]] rank_t rank() const { return state_->backend.rank(); }
  [[nodiscard]] rank_t size() const { return state_->backend.size(); }

  void send(rank_t to, std::size_t queue, std::span<word const> message, caller by = here()) {
    state_->check_message(to, queue, message, {"send", by});
    state_->send(to, queue, message, "send");
  }
  void multicast(std::span<rank_t const> to, std::size_t queue, std::span<word const> message,
                 caller by = here()) {
    for (rank_t const each : to) state_->check_message(each, queue, message, {"multicast", by});
    for (rank_t const each : to) state_->send(each, queue, message, "multicast");
  }

  received receive(std::size_t queue, std::span<word> into) {
    state_->check_receive(queue, "receive");
    return state_->receive(queue, into);
  }
  [[nodiscard]] std::optional<received> try_receive(std::size_t queue, std::span<word> into) {
    state_->check_receive(queue, "try_receive");
    return state_->try_receive(queue, into);
  }

  void handle(std::size_t queue, message_handler handler) {
    state_->check_queue(queue, "handle");
    state_->handle(queue, std::move(handler));
  }
  std::size_t poll() { return state_->poll(); }

  /// While it lives, no handler runs.
  class held {
   public:
    held(held const&) = delete;
    held& operator=(held const&) = delete;
    ~held() { state_->release(); }

   private:
    friend mailed_channel;
    explicit held(state& s) noexcept : state_(&s) { ++s.holds; }
    state* state_;
  };
  [[nodiscard]] held hold() noexcept { return held(*state_); }

  void charge(std::uint64_t cycles) { state_->backend.charge(cycles); }

 private:
  static constexpr unsigned credit_bits = 14;
  static constexpr word most_credit = (word{1} << credit_bits) - 1;

  /// For each queue, the words of a sender that its receiver has removed.
  using credits = std::array<std::uint16_t, queues>;

  struct kept_message {
    rank_t to;
    std::size_t queue;
    std::size_t words;
    std::array<word, most_words> text;
  };

  struct state {
    state(Backend b, control_type c, mailbox_type m, std::size_t r)
        : backend(std::move(b)), control(std::move(c)), mail(std::move(m)), room(r) {
      if (room < 2 * most_words || room > most_credit) {
        throw error(errc::invalid_argument, world_rank(), "make_channel",
                    text_of({"a sender cannot have ", room, " words at each queue; choose ", 2 * most_words,
                             " to ", most_credit}));
      }
      auto const ranks = static_cast<std::size_t>(backend.size());
      credits full;
      full.fill(static_cast<std::uint16_t>(room));
      free.assign(ranks, full);
      owed.assign(ranks, credits{});
      for (rank_t r2 = 0; r2 < backend.size(); ++r2) {
        if (r2 != backend.rank() || ranks == 1) others.push_back(r2);
      }
      mail.serve([this] { work(); });
    }
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    ~state() { mail.serve({}); }

    // Checks

    [[nodiscard]] rank_t world_rank() const { return backend.world_rank(backend.rank()); }
    void check_queue(std::size_t queue, called operation) const {
      if (queue >= queues) {
        throw error(errc::out_of_range, world_rank(), operation,
                    text_of({"queue ", index_text(queue), " does not exist, a rank has ", queues}));
      }
    }
    void check_message(rank_t to, std::size_t queue, std::span<word const> message, called operation) const {
      if (to < 0 || to >= backend.size()) throw_bad_rank(world_rank(), operation, to, backend.size());
      check_queue(queue, operation);
      if (message.empty() || message.size() > most_words) {
        throw error(errc::invalid_argument, world_rank(), operation,
                    text_of({"a message of ", message.size(), " words cannot be sent; send 1 to ", most_words,
                             " words"}));
      }
    }
    void check_receive(std::size_t queue, called operation) const {
      check_queue(queue, operation);
      if (is_handling) {
        throw error(errc::wrong_order, world_rank(), operation,
                    "a handler must not receive; let it note the message, and receive after it");
      }
    }

    // Sending

    void send(rank_t to, std::size_t queue, std::span<word const> message, std::string_view operation) {
      if (is_handling) {
        if (!try_send(to, queue, message)) keep(to, queue, message);
        return;
      }
      bool is_sent = try_send(to, queue, message);
      if (is_sent) return;
      wait([&] { return is_sent = is_sent || try_send(to, queue, message); }, operation, group(&to, 1));
    }
    [[nodiscard]] bool try_send(rank_t to, std::size_t queue, std::span<word const> message) {
      return !is_behind(to, queue, kept.size()) && try_mail(to, queue, message);
    }
    /// Passes a message to the mailbox, with the words that this rank owes its receiver.
    [[nodiscard]] bool try_mail(rank_t to, std::size_t queue, std::span<word const> message) {
      auto& left = free[static_cast<std::size_t>(to)][queue];
      if (left < message.size()) return false;
      std::array<word, most_words + 1> letter;
      letter[0] = queue;
      credits& debt = owed[static_cast<std::size_t>(to)];
      for (std::size_t q = queues; q-- > 0;) letter[0] = letter[0] << credit_bits | debt[q];
      std::copy(message.begin(), message.end(), letter.begin() + 1);
      if (!mail.try_send(to, std::as_bytes(std::span(letter).first(message.size() + 1)))) return false;
      left = static_cast<std::uint16_t>(left - message.size());
      debt = {};
      return true;
    }
    void keep(rank_t to, std::size_t queue, std::span<word const> message) {
      auto& one = kept.emplace_back(kept_message{to, queue, message.size(), {}});
      std::copy(message.begin(), message.end(), one.text.begin());
      kept_words += message.size();
    }
    /// Returns whether one of the first `count` kept messages is for this queue, so that later ones must stay
    /// behind.
    [[nodiscard]] bool is_behind(rank_t to, std::size_t queue, std::size_t count) const noexcept {
      return std::any_of(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(count),
                         [&](kept_message const& k) { return k.to == to && k.queue == queue; });
    }
    void send_kept() {
      if (kept.empty()) return;
      std::size_t left = 0;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        kept_message& one = kept[i];
        if (!is_behind(one.to, one.queue, left) &&
            try_mail(one.to, one.queue, std::span(one.text).first(one.words))) {
          kept_words -= one.words;
        } else if (left++ != i) {
          kept[left - 1] = one;
        }
      }
      kept.resize(left);
    }

    // Credits

    void owe(rank_t to, std::size_t queue, std::size_t count) {
      auto& debt = owed[static_cast<std::size_t>(to)][queue];
      debt = static_cast<std::uint16_t>(debt + count);
      if (debt < room / 2 || try_mail(to, 0, {})) return;
      if (std::find(debts.begin(), debts.end(), to) == debts.end()) debts.push_back(to);
    }
    void pay_debts() {
      std::erase_if(debts, [this](rank_t to) {
        credits const& debt = owed[static_cast<std::size_t>(to)];
        return *std::max_element(debt.begin(), debt.end()) < room / 2 || try_mail(to, 0, {});
      });
    }

    // Receiving

    received receive(std::size_t queue, std::span<word> into) {
      if (inbox[queue].is_empty()) work();
      wait([&] { return !inbox[queue].is_empty(); }, "receive", others);
      return take(queue, into, "receive");
    }
    std::optional<received> try_receive(std::size_t queue, std::span<word> into) {
      if (inbox[queue].is_empty()) work();
      if (!inbox[queue].is_empty()) return take(queue, into, "try_receive");
      backend.check("try_receive");
      return std::nullopt;
    }
    received take(std::size_t queue, std::span<word> into, std::string_view operation) {
      if (received const first = inbox[queue].front(); first.words > into.size()) {
        throw error(errc::invalid_argument, world_rank(), operation,
                    text_of({"the message of ", first.words, " words from rank ", first.from,
                             " does not fit into ", into.size(), "; give room for ", most_words, " words"}));
      }
      received const one = inbox[queue].pop(into);
      owe(one.from, queue, one.words);
      return one;
    }
    /// Waits until a condition holds that messages, or room for one, make true. Each message restarts the
    /// wait, so that a search for deadlocks finds no rank that still makes progress.
    template <std::predicate Condition>
    void wait(Condition&& condition, std::string_view operation, group awaited) {
      while (!condition()) {
        std::uint64_t const before = news;
        control.wait_until(control.slot(backend.rank(), 0, backend.rank()),
                           [&](word) { return condition() || news != before; },
                           {.operation = operation, .awaited = awaited});
      }
    }

    // Progress

    std::size_t poll() {
      std::size_t const handled = work();
      if (handled == 0 && !is_handling) backend.check("poll");
      return handled;
    }
    /// Sorts the messages that have arrived into the queues, sends what was kept, and calls handlers. Returns
    /// the number of messages that they have handled.
    std::size_t work() {
      if (is_at_work) return 0;  // a handler has called what polls
      scoped_value const working(is_at_work, true);
      mail.poll([this](rank_t from, bytes_in bytes) { sort(from, bytes); });
      send_kept();
      pay_debts();
      return call_handlers();
    }
    void sort(rank_t from, bytes_in bytes) {
      std::array<word, most_words + 1> letter;
      std::memcpy(letter.data(), bytes.data(), bytes.size());
      word head = letter[0];
      for (auto& left : free[static_cast<std::size_t>(from)]) {
        left = static_cast<std::uint16_t>(left + (head & most_credit));
        head >>= credit_bits;
      }
      if (auto const message = std::span<word const>(letter).first(bytes.size() / sizeof(word)).subspan(1);
          !message.empty()) {
        inbox[head].push(from, message);
      }
      ++news;
    }
    [[nodiscard]] bool may_handle(std::size_t queue) const noexcept {
      return holds == 0 && kept_words < room && handlers[queue] != nullptr && !inbox[queue].is_empty();
    }
    std::size_t call_handlers() {
      std::size_t handled = 0;
      for (bool found = true; found;) {
        found = false;
        for (std::size_t queue = 0; queue < queues; ++queue) {
          if (!may_handle(queue)) continue;
          found = true;
          ++handled;
          std::array<word, most_words> text;
          received const one = inbox[queue].pop(text);
          owe(one.from, queue, one.words);
          scoped_value const handling(is_handling, true);
          auto const handler = handlers[queue];  // the handler may replace itself
          (*handler)(one.from, std::span<word const>(text).first(one.words));
        }
      }
      return handled;
    }
    void handle(std::size_t queue, message_handler handler) {
      handlers[queue] = handler ? std::make_shared<message_handler const>(std::move(handler)) : nullptr;
      remind();
    }
    void release() noexcept {
      --holds;
      remind();
    }
    /// Lets the next wait call handlers for messages that arrived earlier. Some waits poll for messages only
    /// when one has arrived, so this rank sends itself one without words. If there is no room, another
    /// message is there.
    void remind() noexcept {
      for (std::size_t queue = 0; queue < queues; ++queue) {
        if (!is_handling && may_handle(queue)) return static_cast<void>(try_mail(backend.rank(), 0, {}));
      }
    }

    Backend backend;
    control_type control;
    mailbox_type mail;
    std::size_t room;
    std::vector<rank_t> others;  ///< the ranks that may send; a rank alone sends to itself
    std::vector<credits> free;   ///< this rank's room at each queue of each rank
    std::vector<credits> owed;   ///< the room of each rank here that it does not yet know of
    std::vector<rank_t> debts;   ///< ranks that should soon know
    std::array<message_queue, queues> inbox;
    std::array<std::shared_ptr<message_handler const>, queues> handlers;
    std::deque<kept_message> kept;
    std::size_t kept_words = 0;
    std::uint64_t news = 0;  ///< counts the messages that came out of the mailbox
    int holds = 0;
    bool is_at_work = false;
    bool is_handling = false;
  };

  std::unique_ptr<state> state_;
};

}  // namespace PGAS_NAMESPACE::detail
