// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/async/call_options.hpp>
#include <pgas/async/call_record.hpp>
#include <pgas/concepts/backend.hpp>
#include <span>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The steps of a call_post without which it is wrong, for tests that leave one out.
struct call_post_steps {
  bool returns_room = true;  ///< in a message of its own, when much is owed
  bool reminds = true;       ///< itself of records that lie here
  bool tells_full = true;    ///< its callers that its functions do not begin
};

/// Carries the records of calls in messages of a mailbox, many in one, within a fixed memory.
///
/// Source    credits as in VIA-like transports; request-to-send and clear: Ferreras 2008, sections 1.9 to
///           1.12, in the form for a receiver that has room for one long message; the delay of short records
///           while an answer is awaited: Nagle, RFC 896.
/// States    A record of a call is in the queue of its sender, under way, or in the input of its receiver. A
///           sender has `room` words at each receiver, which a record takes when it leaves. The receiver owes
///           them when the function has ended, and returns them in the head of its next message, or in a
///           message of its own when they are half of the room.
///           A record longer than `eager` stays at its sender, which sends an offer. The receiver asks for it
///           when its turn has come and nothing else lands; it then comes in pieces.
///           Answers need no room: a receiver stores them at once where they belong. So each rank can always
///           take all messages out of its mailbox, and a full receiver holds up no answer.
/// Full      A rank that has started much begins no function, since each may start more. It tells its
/// callers.
///           If all calls of a full rank are for ranks that are full too, they may wait for each other: this
///           one then begins a function nevertheless, out of memory that only functions use.
/// Differs   from GASNet's active messages, whose handlers may only reply: here a function may call.
/// Memory    see call_shares. `most` counts the words of records and of calls without an answer. A queue's
///           buffer has at most twice the words of its records.
template <mailbox_backend Backend, class Owner, call_post_steps Steps = call_post_steps{}>
class call_post {
  using mailbox_type = typename Backend::mailbox_type;

 public:
  /// The words of a message, without its head.
  static constexpr std::size_t most_in_message = mailbox_type::max_message_bytes / sizeof(word) - 1;
  static_assert(most_in_message >= 5, "a message has room for the shortest part of a failure");

  /// `owner` runs functions and ends calls: see begin and arrive.
  call_post(mailbox_type mail, rank_t self, rank_t ranks, call_options const& options, Owner& owner)
      : mail_(std::move(mail)),
        shares_(options, ranks),
        self_(self),
        ordered_(options.ordered),
        owner_(&owner),
        peers_(static_cast<std::size_t>(ranks)) {
    for (peer& p : peers_) p.room = shares_.room;
    mail_.serve([this] { work(); });
  }
  call_post(call_post const&) = delete;
  call_post& operator=(call_post const&) = delete;
  ~call_post() { mail_.serve({}); }

  [[nodiscard]] call_shares const& shares() const noexcept { return shares_; }
  /// The words that this rank has started and that have not ended, and the most words of all kinds so far.
  [[nodiscard]] std::size_t started() const noexcept { return queued_ + awaited_; }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  /// Counts the messages that have come.
  [[nodiscard]] std::uint64_t news() const noexcept { return news_; }

  /// The words that a record of this length takes.
  [[nodiscard]] std::size_t cost(std::size_t count) const noexcept {
    return count <= shares_.eager ? count : count + offer_words;
  }
  /// Counts the words of a call that awaits its answer.
  void await(std::size_t count) noexcept {
    awaited_ += count;
    note_most();
  }
  void end_await(std::size_t count) noexcept { awaited_ -= count; }

  /// Returns room for the record of a call, which the caller fills. Then comes `posted`.
  [[nodiscard]] std::span<word> extend(rank_t to, std::size_t count) {
    peer& p = at(to);
    queued_ += cost(count);
    note_most();
    if (count <= shares_.eager) return p.calls.extend(count);
    p.calls.extend(offer_words)[0] = call_head{call_kind::offer, offer_words, 0}.packed();
    return p.large.extend(count);
  }
  /// Sends what fills messages, or all, if the call is urgent.
  void posted(rank_t to, bool is_urgent) {
    peer& p = at(to);
    mark_busy(p, to);
    if (is_urgent) {
      while (send_message(to, false)) {}
    } else if (p.calls.size() >= most_in_message) {
      while (send_message(to, true)) {}
    }
    if (Steps.reminds && !is_at_work_ && !is_reminded_ && !p.is_sent()) {
      // Some waits look for messages only when one has come. If there is no room, one is there.
      word const head = 0;
      is_reminded_ = mail_.try_send(self_, std::as_bytes(std::span(&head, 1)));
    }
  }
  /// Returns room for a part of an answer, which the caller fills.
  [[nodiscard]] std::span<word> extend_answers(rank_t to, std::size_t count) {
    mark_busy(at(to), to);
    queued_ += count;
    note_most();
    return at(to).control.extend(count);
  }

  /// Receives what has arrived, runs functions, and sends what can be sent. Returns the number of messages.
  std::size_t work() {
    if (is_at_work_) return 0;  // a function has called what works
    struct working {
      bool& now;
      ~working() { now = false; }
    } const ends{is_at_work_ = true};
    std::size_t const count = mail_.poll([this](rank_t from, bytes_in bytes) { arrive(from, bytes); });
    if (!waiting_.empty()) begin_waiting();
    if (Steps.tells_full && is_full() != was_full_) note_full();
    if (!busy_.empty()) send_all();
    return count;
  }

 private:
  static constexpr std::uint32_t offer_words = 2;
  enum class message_kind : std::uint8_t { records, piece, landing };

  struct peer {
    call_queue calls;         ///< for a message, and for room
    call_queue large;         ///< calls that were offered
    call_queue control;       ///< answers, and what needs no room
    call_queue input;         ///< calls that wait to begin
    std::vector<word> piece;  ///< the begin of a call
    std::size_t room = 0;     ///< of this rank there
    std::size_t owed = 0;     ///< of that rank here
    std::size_t sent = 0;     ///< words of the first call that have left in pieces
    std::size_t landed = 0;   ///< words of the first long call that have left
    bool is_cleared = false;  ///< it has asked for the first long call
    bool is_full = false;     ///< it begins no functions, as far as this rank knows
    bool told_full = false;   ///< what this rank has said
    bool is_busy = false;     ///< in busy_
    bool is_waiting = false;  ///< in waiting_

    [[nodiscard]] bool is_sent() const noexcept {
      return calls.is_empty() && control.is_empty() && !is_cleared;
    }
  };

  [[nodiscard]] peer& at(rank_t rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  void mark_busy(peer& p, rank_t rank) {
    if (!std::exchange(p.is_busy, true)) busy_.push_back(rank);
  }
  [[nodiscard]] bool is_full() const noexcept { return queued_ > shares_.soft(); }
  void note_most() noexcept { most_ = std::max(most_, started() + in_ + landing_.size()); }
  [[nodiscard]] bool wants_note(peer const& p) const noexcept {
    if (Steps.returns_room && p.owed >= shares_.room / 2) return true;
    return Steps.tells_full && p.told_full != is_full() && (p.told_full || !p.input.is_empty());
  }

  // Sending

  /// Sends one message to a rank; if `only_full`, none that has room for further records.
  bool send_message(rank_t to, bool only_full) {
    peer& p = at(to);
    std::array<word, most_in_message + 1> text;
    std::size_t used = 1;
    auto const add = [&](std::span<word const> words) {
      std::copy(words.begin(), words.end(), text.begin() + static_cast<std::ptrdiff_t>(used));
      used += words.size();
    };
    auto const whole = [&](call_queue const& from, std::size_t most) {
      auto const rest = from.rest();
      std::size_t count = 0;
      while (count < rest.size()) {
        std::size_t const next = count + call_head::of(rest[count]).words;
        if (next > most) break;
        count = next;
      }
      add(rest.first(count));
      return count;
    };
    std::size_t const answers = whole(p.control, most_in_message);
    std::size_t calls = 0;
    std::size_t piece = 0;
    auto kind = message_kind::records;
    if (answers == 0 && p.is_cleared) {
      kind = message_kind::landing;
      auto const rest = p.large.front().subspan(p.landed);
      piece = std::min(rest.size(), most_in_message);
      add(rest.first(piece));
    } else if (p.sent == 0) {
      calls = whole(p.calls, std::min(most_in_message - answers, p.room));
      if (only_full && calls == p.calls.size() && used <= most_in_message) return false;
    }
    if (used == 1 && !p.calls.is_empty()) {
      auto const front = p.calls.front();
      if (front.size() > most_in_message && (p.sent != 0 || front.size() <= p.room)) {
        kind = message_kind::piece;
        piece = std::min(front.size() - p.sent, most_in_message);
        add(front.subspan(p.sent, piece));
      }
    }
    if (used == 1 && !wants_note(p)) return false;
    text[0] = word{p.owed} << 16U | word{is_full()} << 8U | static_cast<word>(kind);
    if (!mail_.try_send(to, std::as_bytes(std::span(text).first(used)))) return false;
    p.owed = 0;
    p.told_full = is_full();
    p.control.drop(answers);
    p.calls.drop(calls);
    p.room -= calls;
    std::size_t gone = answers + calls;
    if (kind == message_kind::piece) {
      std::size_t const all = p.calls.front().size();
      if (p.sent == 0) p.room -= all;
      if ((p.sent += piece) == all) {
        p.calls.drop(all);
        p.sent = 0;
        gone = all;
      }
    } else if (kind == message_kind::landing && (p.landed += piece) == p.large.front().size()) {
      gone = p.landed;
      p.large.drop(gone);
      p.landed = 0;
      p.is_cleared = false;
    }
    queued_ -= gone;
    return true;
  }
  void send_all() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      rank_t const to = busy_[i];
      peer& p = at(to);
      while (send_message(to, false)) {}
      p.is_busy = !p.is_sent() || wants_note(p);
      if (p.is_busy) busy_[left++] = to;
    }
    busy_.resize(left);
  }

  // Receiving

  void arrive(rank_t from, bytes_in bytes) {
    std::array<word, most_in_message + 1> copy;
    auto text = std::span(reinterpret_cast<word const*>(bytes.data()), bytes.size() / sizeof(word));
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(word) != 0) {
      std::memcpy(copy.data(), bytes.data(), bytes.size());
      text = std::span(copy).first(bytes.size() / sizeof(word));
    }
    ++news_;
    peer& p = at(from);
    p.room += text[0] >> 16U;
    p.is_full = (text[0] >> 8U & 1U) != 0;
    if (from == self_) is_reminded_ = false;
    auto rest = text.subspan(1);
    switch (static_cast<message_kind>(text[0] & 0xffU)) {
      case message_kind::records:
        while (!rest.empty()) {
          auto const head = call_head::of(rest[0]);
          receive(from, p, head, rest.first(head.words));
          rest = rest.subspan(head.words);
        }
        break;
      case message_kind::piece:
        p.piece.insert(p.piece.end(), rest.begin(), rest.end());
        count_in(rest.size());
        if (auto const head = call_head::of(p.piece[0]); p.piece.size() == head.words) {
          in_ -= p.piece.size();
          receive(from, p, head, p.piece);
          p.piece.clear();
        }
        break;
      case message_kind::landing:
        landing_.insert(landing_.end(), rest.begin(), rest.end());
        note_most();
        break;
    }
  }
  void count_in(std::size_t count) noexcept {
    in_ += count;
    note_most();
  }
  void receive(rank_t from, peer& p, call_head head, std::span<word const> record) {
    if (head.kind == call_kind::answer || head.kind == call_kind::failure) {
      owner_->end_call(from, head, record);
    } else if (head.kind == call_kind::clear) {
      p.is_cleared = true;
      mark_busy(p, from);
    } else if (head.kind != call_kind::offer && (!ordered_ || p.input.is_empty()) && may_begin(head)) {
      owner_->run(from, head, record);
      owe(from, p, record.size());
    } else {
      p.input.push(record);
      count_in(record.size());
      if (!std::exchange(p.is_waiting, true)) waiting_.push_back(from);
      if (wants_note(p)) mark_busy(p, from);
    }
  }
  void owe(rank_t to, peer& p, std::size_t count) {
    p.owed += count;
    if (wants_note(p)) mark_busy(p, to);
  }

  // Beginning functions

  [[nodiscard]] bool may_begin(call_head head) noexcept {
    if (started() + owner_->answer_words(head) > shares_.of_answers()) return false;
    return !is_full() || is_stuck();
  }
  /// Returns whether all that this rank has started waits for ranks that are full.
  [[nodiscard]] bool is_stuck() const noexcept {
    bool some = false;
    for (peer const& p : peers_) {
      if (!p.control.is_empty() || p.is_cleared) return false;
      if (p.calls.is_empty() && p.large.is_empty()) continue;
      if (!p.is_full) return false;
      some = true;
    }
    return some;
  }
  void begin_waiting() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      rank_t const from = waiting_[i];
      peer& p = at(from);
      while (!p.input.is_empty() && begin_first(from, p)) {}
      p.is_waiting = !p.input.is_empty();
      if (p.is_waiting) waiting_[left++] = from;
    }
    waiting_.resize(left);
  }
  bool begin_first(rank_t from, peer& p) {
    auto record = p.input.front();
    auto head = call_head::of(record[0]);
    std::size_t const words = record.size();
    if (head.kind == call_kind::offer && !has_landed(from)) return false;
    if (head.kind == call_kind::offer) {
      record = landing_;
      head = call_head::of(record[0]);
    }
    if (!may_begin(head)) return false;
    owner_->run(from, head, record);
    p.input.drop(words);
    in_ -= words;
    owe(from, p, words);
    if (record.data() == landing_.data()) {
      landing_ = {};
      lands_from_ = nobody;
    }
    return true;
  }
  /// Asks for a long call if nothing else lands. Returns whether all of it is here.
  bool has_landed(rank_t from) {
    if (lands_from_ == nobody) {
      lands_from_ = from;
      extend_answers(from, 1)[0] = call_head{call_kind::clear, 1, 0}.packed();
    }
    return lands_from_ == from && !landing_.empty() && landing_.size() == call_head::of(landing_[0]).words;
  }
  /// Tells the callers that wait here that functions begin, or do not.
  void note_full() {
    was_full_ = is_full();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (wants_note(peers_[i])) mark_busy(peers_[i], static_cast<rank_t>(i));
    }
  }

  static constexpr rank_t nobody = -1;

  mailbox_type mail_;
  call_shares shares_;
  rank_t self_;
  bool ordered_;
  Owner* owner_;
  std::vector<peer> peers_;
  std::vector<rank_t> busy_;     ///< ranks to which something is to be sent
  std::vector<rank_t> waiting_;  ///< ranks whose calls wait to begin
  std::vector<word> landing_;    ///< the long call that arrives
  rank_t lands_from_ = nobody;
  std::size_t queued_ = 0;   ///< words of records to be sent
  std::size_t awaited_ = 0;  ///< words of calls without an answer
  std::size_t in_ = 0;       ///< words of calls that have arrived and wait
  std::size_t most_ = 0;     ///< of all words together, so far
  std::uint64_t news_ = 0;
  bool was_full_ = false;
  bool is_at_work_ = false;
  bool is_reminded_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
