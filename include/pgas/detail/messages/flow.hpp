// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstring>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/messages/bounded_memory.hpp>
#include <pgas/detail/messages/credits.hpp>
#include <pgas/detail/messages/peer.hpp>
#include <pgas/detail/messages/records.hpp>
#include <pgas/detail/messages/sender_side.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/vocabulary/message_options.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::messages {

/// One rank's side of Ferreras' flow control: what it does with each letter, and which letters it sends.
///
/// Source: Ferreras 2008, section 4.3, the "short-memory" protocol; section 3.4 for credits.
/// Send      queued -> asked -> sending -> done. A hold moves it from asked to held, and a clear from there
///           to sending. A refusal moves it back to queued. With credit it goes from queued to sending at
///           once. A short message travels in its question, and a clear without a place ends it.
/// Receive   posted -> filling -> done, or done at once if the message has come before.
/// Question  A receiver answers clear if a receive waits or a buffer fits, hold if only the envelope fits,
///           and refuse otherwise. It records a refusal in one bit. A new receive, or freed memory, raises
///           the age of such a sender and lets it ask for its whole queue again, in order.
/// Order     A clear of a held message leaves after the hold, even if the mailbox had no room for the hold.
/// Ages      A question of an earlier age is refused, since an earlier message may be asked for after it.
/// Differs   The sender asks again by itself when a question of an earlier age is refused; in the source the
///           receiver tells it to. A refused sender's later messages get no memory, so messages of different
///           lengths keep their order. Freed memory wakes one sender, in turn. At most four questions per
///           pair have no answer, so the emergency memory is four answers for each rank.
/// Control   message_form::control is section 4.5.1's form for data that are received in order: a refused
///           sender asks for its first message alone, so no question of an earlier age can come.
template <mailbox Mailbox, message_credits Credits, message_form Form = message_form::tagged>
class flow : sender_side<Mailbox, Credits, Form> {
  using base = sender_side<Mailbox, Credits, Form>;
  using base::at;
  using base::carry_on;
  using base::counts_;
  using base::mail_;
  using base::mail_letter;
  using base::memory_;
  using base::news_;
  using base::on_clear;
  using base::options_;
  using base::peers_;
  using base::pool_;
  using base::unqueue;

 public:
  flow(Mailbox mail, rank_t ranks, message_options const& o)
      : base(std::move(mail), ranks, o), credits_(memory_, ranks) {
    share_ = credits_.first(memory_.left(), ranks);
    for (peer& p : peers_) {
      memory_.reserve(share_);
      p.granted = p.credit = share_;
    }
  }
  flow(flow const&) = delete;
  flow& operator=(flow const&) = delete;
  ~flow() {
    while (record* const one = unexpected_.first()) {
      unexpected_.remove(*one);
      one->destroy(memory_);
    }
  }

  /// The fewest bytes with which all messages arrive: the state, and one envelope.
  static std::size_t least_budget(rank_t ranks, message_options const& o) noexcept {
    return bounded_memory::rounded(o.requests * sizeof(request)) +
           bounded_memory::rounded(static_cast<std::size_t>(ranks) * sizeof(peer)) +
           Credits::state_bytes(ranks) + record::cost(0);
  }

  [[nodiscard]] Mailbox& mail() noexcept { return mail_; }
  [[nodiscard]] request_pool& pool() noexcept { return pool_; }
  [[nodiscard]] message_memory memory() const noexcept { return memory_.counted(); }
  [[nodiscard]] message_counts const& counts() const noexcept { return counts_; }
  /// Counts the letters that have come and the requests that have ended.
  [[nodiscard]] std::uint64_t news() const noexcept { return news_; }

  /// Requires a free record.
  request& start_send(rank_t to, word tag, bytes_in message) noexcept {
    request& r = pool_.take();
    r.state = request::queued;
    r.peer = to;
    r.tag = tag;
    r.from = message.data();
    r.bytes = message.size();
    r.envelope = {to, tag, message.size()};
    at(to).queue.append(r);
    return r;
  }
  /// Requires a free record.
  request& start_receive(rank_t from, word tag, bytes_out into) {
    request& r = pool_.take();
    r.peer = from;
    r.tag = tag;
    r.at = into.data();
    r.room = into.size();
    for (record* m = unexpected_.first(); m != nullptr; m = m->after) {
      if (m->taker == nullptr && matches(r, m->from, m->tag)) return give(*m, r), r;
    }
    r.state = request::posted;
    posted_.append(r);
    if (from != any_sender) {
      if (at(from).has_failed) wake(at(from));
    } else {
      for (peer& p : peers_)
        if (p.has_failed) wake(p);
    }
    return r;
  }
  /// Ends a request; the policy of credits learns of a receive in the order in which the program ends them.
  void end(request& r) noexcept {
    if (r.state == request::done && r.from == nullptr) credits_.received(r.envelope);
    pool_.give_back(r);
  }

  /// Receives what has arrived, and sends what has room.
  void work() {
    if (is_at_work_) return;
    scoped_value const now(is_at_work_, true);
    mail_.poll([this](rank_t from, bytes_in bytes) { take(from, bytes); });
    credits_.plan(options_.eager_bytes, [this](rank_t to, std::size_t bytes) { grant(to, bytes); });
    for (rank_t to = 0; to < static_cast<rank_t>(peers_.size()); ++to) {
      peer& p = at(to);
      if (pay(p, to)) carry_on(p, to);
    }
  }

 private:
  void take(rank_t from, bytes_in bytes) {
    letter_head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes_in const rest = bytes.subspan(sizeof head);
    peer& p = at(from);
    p.credit += std::size_t{head.credit} * credit_unit;
    ++news_;
    switch (head.kind) {
      case letter_kind::ask:
        return on_ask(p, from, head, rest);
      case letter_kind::clear:
        return on_clear(p, pool_.at(head.request), head.argument);
      case letter_kind::hold:
        unqueue(p, pool_.at(head.request)).state = request::held;
        return;
      case letter_kind::refuse:
        --p.asked;
        pool_.at(head.request).state = request::queued;
        return;
      case letter_kind::again:
        p.age_out = head.age;
        return;
      case letter_kind::data:
        feed(*std::bit_cast<sink*>(static_cast<std::uintptr_t>(head.argument)), rest);
        return;
      case letter_kind::eager:
        return on_eager(p, from, head, rest);
      case letter_kind::more:
        if (feed(*p.coming, rest)) p.coming = nullptr;
        return;
      case letter_kind::credit:
        return;
      case letter_kind::recall:
        p.owes_yield = true;
        return;
      case letter_kind::yield:
        p.granted -= head.argument * credit_unit;
        memory_.end_reservation(head.argument * credit_unit);
        return;
    }
  }

  // The receiver

  static bool matches(request const& r, rank_t from, word tag) noexcept {
    return (r.peer == any_sender || r.peer == from) && (r.tag == any_tag || r.tag == tag);
  }
  static word place_of(sink& s) noexcept { return static_cast<word>(std::bit_cast<std::uintptr_t>(&s)); }
  /// The first waiting receive that matches this message; or null.
  request* match(rank_t from, word tag, std::size_t bytes) noexcept {
    for (request* r = posted_.first(); r != nullptr;) {
      request* const next = r->after;
      if (matches(*r, from, tag)) {
        posted_.remove(*r);
        if (begin(*r, {from, tag, bytes})) return r;
      }
      r = next;
    }
    return nullptr;
  }
  /// Makes a receive the destination of a message, unless the message is too long.
  bool begin(request& r, arrived_message const& envelope) noexcept {
    r.envelope = envelope;
    r.bytes = envelope.bytes;
    r.moved = 0;
    r.state = envelope.bytes > r.room ? request::too_long : request::filling;
    if (r.state == request::too_long) ++news_;
    return r.state == request::filling;
  }
  /// Gives a message that has arrived to a receive.
  void give(record& m, request& r) {
    if (!begin(r, {m.from, m.tag, m.bytes})) return;
    if (m.is_held) {
      r.owes_clear = true;
      r.theirs = m.theirs;
      ++at(m.from).clears_due;
      drop(m);
    } else if (m.is_full()) {
      feed(r, bytes_in(m.at, m.bytes));
      drop(m);
    } else {
      m.taker = &r;
    }
  }
  record& keep(rank_t from, word tag, std::size_t bytes, bool is_held) {
    record& m = record::make(memory_, is_held ? 0 : bytes);
    m.from = from;
    m.tag = tag;
    m.bytes = bytes;
    m.is_held = is_held;
    unexpected_.append(m);
    return m;
  }
  void drop(record& m) {
    unexpected_.remove(m);
    peer& p = at(m.from);
    std::size_t const back = m.is_credited ? record::cost(m.bytes) : 0;
    m.destroy(memory_);
    if (back != 0) {
      memory_.reserve(back);
      p.granted += back;
      p.owed += back;
    }
    wake_next();
  }
  /// Adds bytes; returns whether they are the last.
  bool feed(sink& s, bytes_in bytes) {
    if (!bytes.empty()) std::memcpy(s.at + s.moved, bytes.data(), bytes.size());
    s.moved += bytes.size();
    if (!s.is_full()) return false;
    if (!s.is_record) {
      static_cast<request&>(s).state = request::done;
      ++news_;
    } else if (auto& m = static_cast<record&>(s); m.taker != nullptr) {
      feed(*m.taker, bytes_in(m.at, m.bytes));
      drop(m);
    }
    return true;
  }

  void on_ask(peer& p, rank_t from, letter_head const& head, bytes_in rest) {
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), sizeof length);
    auto const bytes = static_cast<std::size_t>(length);
    bytes_in const text = rest.subspan(sizeof length);
    bool const is_here = text.size() == bytes;
    auto const reply = [&](letter_kind kind, word place = 0) {
      p.push({kind, head.age, head.request, place});
    };
    if (Form == message_form::tagged && head.age != p.age_in) return reply(letter_kind::refuse);
    if (request* const r = match(from, head.argument, bytes)) {
      reply(letter_kind::clear, is_here ? 0 : place_of(*r));
      if (is_here) feed(*r, text);
    } else if (p.has_failed) {
      reply(letter_kind::refuse);
    } else if (bytes <= memory_.left() && memory_.has(record::cost(bytes))) {
      record& m = keep(from, head.argument, bytes, false);
      reply(letter_kind::clear, is_here ? 0 : place_of(m));
      if (is_here) feed(m, text);
    } else if (memory_.has(record::cost(0))) {
      keep(from, head.argument, bytes, true).theirs = head.request;
      reply(letter_kind::hold);
    } else {
      p.has_failed = true;
      reply(letter_kind::refuse);
    }
  }
  void on_eager(peer& p, rank_t from, letter_head const& head, bytes_in rest) {
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), sizeof length);
    auto const bytes = static_cast<std::size_t>(length);
    std::size_t const cost = record::cost(bytes);
    request* const r = match(from, head.argument, bytes);
    if (r != nullptr && Credits::returns) {
      p.owed += cost;
    } else if (!Credits::is_unlimited) {
      p.granted -= cost;
      memory_.end_reservation(cost);
    }
    sink* s = r;
    if (r == nullptr) {
      record& m = keep(from, head.argument, bytes, false);
      m.is_credited = Credits::returns;
      s = &m;
    }
    p.coming = s;
    if (feed(*s, rest.subspan(sizeof length))) p.coming = nullptr;
  }
  static void wake(peer& p) noexcept {
    p.has_failed = false;
    ++p.age_in;
    p.owes_again = true;
  }
  void wake_next() noexcept {
    for (std::size_t left = peers_.size(); left > 0; --left) {
      peer& p = peers_[next_ = (next_ + 1) % peers_.size()];
      if (p.has_failed) return wake(p);
    }
  }
  /// Sends clears for a peer's held messages that receives have matched; returns false if the mailbox has no
  /// room.
  bool clear_held(peer& p, rank_t to) {
    if (p.clears_due == 0) return true;
    for (request& r : pool_.all()) {
      if (!r.owes_clear || r.envelope.from != to) continue;
      letter_head const head{.kind = letter_kind::clear, .request = r.theirs, .argument = place_of(r)};
      if (!mail_letter(to, head)) return false;
      r.owes_clear = false;
      --p.clears_due;
      ++counts_.cleared;
    }
    return true;
  }
  /// Reserves memory for predicted messages, or asks other ranks to return theirs.
  void grant(rank_t to, std::size_t cost) noexcept {
    peer& p = at(to);
    if (p.granted >= cost) return;
    std::size_t const more = cost - p.granted;
    std::size_t reserved = 0;
    for (peer const& other : peers_) reserved += other.granted;
    if (reserved + more <= options_.budget / 2 && memory_.has(more)) {
      memory_.reserve(more);
      p.granted += more;
      p.owed += more;
    } else {
      for (peer& other : peers_) other.owes_recall = other.owes_recall || (&other != &p && other.granted > 0);
    }
  }

  /// Sends the answers that this rank owes a peer; returns false at the first letter for which the mailbox
  /// has no room.
  bool pay(peer& p, rank_t to) {
    for (; p.answers_left > 0; p.pop()) {
      answer const one = p.front();
      letter_head const head{.kind = one.kind, .age = one.age, .request = one.request, .argument = one.place};
      if (!mail_letter(to, head)) return false;
      ++(one.kind == letter_kind::clear  ? counts_.cleared
         : one.kind == letter_kind::hold ? counts_.held
                                         : counts_.refused);
    }
    // After the answers: a sender that got a hold after its clear would wait forever.
    if (!clear_held(p, to)) return false;
    if (p.owes_again) {
      if (!mail_letter(to, {.kind = letter_kind::again, .age = p.age_in})) return false;
      p.owes_again = false;
      ++counts_.recalled;
    }
    if (p.owes_recall) {
      if (!mail_letter(to, {.kind = letter_kind::recall})) return false;
      p.owes_recall = false;
    }
    if (p.owes_yield) {
      if (!mail_letter(to, {.kind = letter_kind::yield, .argument = p.credit / credit_unit})) return false;
      p.credit = 0;
      p.owes_yield = false;
    }
    bool const is_due = p.owed > 0 && p.owed >= share_ / 2;
    return !is_due || mail_letter(to, {.kind = letter_kind::credit});
  }

  Credits credits_;
  chain<request> posted_;
  chain<record> unexpected_;
  std::size_t share_ = 0;  ///< of the budget, that each sender has as credit from the start
  std::size_t next_ = 0;   ///< the peer that memory woke last
  bool is_at_work_ = false;
};

}  // namespace PGAS_NAMESPACE::detail::messages
