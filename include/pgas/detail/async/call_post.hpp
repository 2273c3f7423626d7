// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/async/call_options.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/async/call_message.hpp>
#include <pgas/detail/async/call_peer.hpp>
#include <pgas/detail/async/call_record.hpp>
#include <pgas/detail/async/call_sender.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Carries the records of calls in messages of a mailbox, many in one, within a fixed memory.
///
/// Source    credits as in VIA-like transports; request-to-send and clear: Ferreras 2008, sections 1.9 to
///           1.12, in the form for a receiver that has room for one long message; the delay of short records
///           while an answer is awaited: Nagle, RFC 896.
/// States    A record of a call is in the queue of its sender, under way, or in the input of its receiver. A
///           sender has `room` words at each receiver, of which a record uses its words when it is sent. The
///           receiver owes them when the function has ended, and returns them in the head of its next
///           message, or in a message of its own when they are half of the room.
///           A record longer than `eager` stays at its sender, which sends an offer. The receiver asks for it
///           when its turn has come and no other long call arrives; it is then sent in pieces. A receiver
///           that reaches its sender's memory copies the record instead, and tells the sender (Jin, Sur,
///           Chai, Panda 2005, "LiMIC"; differs: the receiver compares the head, since the place is a number
///           of a process). Answers need no room: a receiver stores them at once where they belong. So each
///           rank can always receive all messages of its mailbox, and a full receiver holds up no answer.
/// Alone     A short call of a program skips the queue if it is urgent and all earlier records for its
///           receiver have been sent. So does the short answer to a message of one record. Each is written
///           where its receiver reads it: one line moves each way. A record that finds no place goes through
///           the queue.
/// Lanes     Calls of programs and of functions have queues, room and a landing place of their own. A call of
///           a program begins while functions have few calls under way here; one of a function also later,
///           and the deepest first. So a tree of calls is finished before another one begins.
/// Full      A rank whose functions have many calls under way begins none, since each may start more. It
///           tells its callers. If all calls of a full rank are for ranks that are full too, they may wait
///           for each other: this one then begins a function nevertheless, in memory that only functions use.
/// Differs   from GASNet's active messages, whose handlers may only reply: here a function may call.
/// Memory    see call_shares. `most` counts the words of records and of calls without an answer. A queue's
///           buffer has at most twice the words of its records.
template <mailbox_backend Backend, class Owner>
class call_post : public call_sender<Backend> {
  using base = call_sender<Backend>;

 public:
  using base::extend_answers;
  using base::most_in_message;
  using base::started;
  using base::try_send_alone;

  /// `owner` runs functions and ends calls.
  call_post(typename Backend::mailbox_type mail, Backend const& backend, call_options const& options,
            Owner& owner)
      : base(std::move(mail), backend, options), ordered_(options.ordered), owner_(&owner) {
    mail_.serve([this] { work(); });
  }
  call_post(call_post const&) = delete;
  call_post& operator=(call_post const&) = delete;
  ~call_post() { mail_.serve({}); }

  /// Returns whether the message whose record is being received has no other one. Its answer is then sent
  /// alone, since no other answer would share the message.
  [[nodiscard]] bool is_single() const noexcept { return is_single_; }

  /// Receives what has arrived, runs functions, and sends what can be sent. Returns the number of messages.
  std::size_t work() {
    if (is_at_work_) return 0;  // a function has called what works
    scoped_value const now(is_at_work_, true);
    has_begun_full_ = false;
    goes_on_ = false;
    std::size_t const count = mail_.poll([this](rank_t from, bytes_in bytes) { arrive(from, bytes); });
    if (!waiting_.empty() || !nested_.is_empty() || !landing_[of_functions].is_free()) begin_waiting();
    if (is_full() != was_full_) note_full();
    if (!busy_.empty()) send_all();
    // A function that has run, or a record that has been sent, may let further calls begin. The work begins
    // them in its next round, so that waits check their conditions meanwhile.
    if (goes_on_ && has_input()) remind();
    return count;
  }

 private:
  using base::at;
  using base::busy_;
  using base::by_functions_;
  using base::goes_on_;
  using base::has_input;
  using base::in_;
  using base::is_at_work_;
  using base::is_full;
  using base::landing_;
  using base::lane_of;
  using base::mail_;
  using base::mark_busy;
  using base::news_;
  using base::note_most;
  using base::of_functions;
  using base::of_programs;
  using base::peers_;
  using base::remind;
  using base::send_all;
  using base::shares_;
  using base::wants_note;

  void arrive(rank_t from, bytes_in bytes) {
    std::array<word, most_in_message + 1> copy;
    auto text = std::span(reinterpret_cast<word const*>(bytes.data()), bytes.size() / sizeof(word));
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(word) != 0) {
      std::memcpy(copy.data(), bytes.data(), bytes.size());
      text = std::span(copy).first(bytes.size() / sizeof(word));
    }
    ++news_;
    call_peer& p = at(from);
    auto const head = call_message_head::of(text[0]);
    for (std::size_t lane = 0; lane < 2; ++lane) p.lanes[lane].room += head.owed[lane];
    p.is_full = head.is_full;
    if (head.kind == call_message_kind::records && text.size() > 1) {
      if (auto const record = call_head::of(text[1]); record.words == text.size() - 1) [[likely]] {
        is_single_ = true;
        receive(from, p, record, text.subspan(1));
        is_single_ = false;
        return;
      }
    }
    if (from == this->self_) this->is_reminded_ = false;
    arrive_parts(p, from, head, text.subspan(1));
  }
  [[gnu::noinline]] void arrive_parts(call_peer& p, rank_t from, call_message_head head,
                                      std::span<word const> rest) {
    auto& piece = p.lanes[head.lane].piece;
    auto& landed = landing_[head.lane].text;
    switch (head.kind) {
      case call_message_kind::records:
        while (!rest.empty()) {
          auto const record = rest.first(call_head::of(rest[0]).words);
          receive(from, p, call_head::of(record[0]), record);
          rest = rest.subspan(record.size());
        }
        break;
      case call_message_kind::piece:
        piece.insert(piece.end(), rest.begin(), rest.end());
        count_in(rest.size());
        if (auto const of_call = call_head::of(piece[0]); piece.size() == of_call.words) {
          in_ -= piece.size();
          receive(from, p, of_call, piece);
          piece.clear();
        }
        break;
      case call_message_kind::landing:
        landed.insert(landed.end(), rest.begin(), rest.end());
        note_most();
        break;
    }
  }
  void count_in(std::size_t count) noexcept {
    in_ += count;
    note_most();
  }
  void receive(rank_t from, call_peer& p, call_head head, std::span<word const> record) {
    if (head.kind == call_kind::answer || head.kind == call_kind::failure) {
      owner_->end_call(from, head, record);
    } else if (head.kind == call_kind::clear) {
      p.cleared.push_back(record[1]);
      mark_busy(p, from);
    } else if (head.kind == call_kind::taken) {
      this->has_been_taken(p, record[1]);
    } else if (head.kind != call_kind::offer && may_overtake(p, head) && may_begin(head)) {
      // The record needs no room here, so it is owed before its answer leaves, which then returns it.
      owe(from, p, head, record.size());
      run(from, head, record);
    } else {
      keep(from, p, head, record);
    }
  }
  /// Returns whether an arriving call may begin before waiting ones.
  [[nodiscard]] bool may_overtake(call_peer const& p, call_head head) const noexcept {
    return lane_of(head.depth) == of_programs ? p.input.is_empty() || !ordered_ : nested_.is_empty();
  }
  void keep(rank_t from, call_peer& p, call_head head, std::span<word const> record) {
    count_in(record.size());
    if (lane_of(head.depth) == of_programs) {
      p.input.push(record);
      if (!std::exchange(p.is_waiting, true)) waiting_.push_back(from);
    } else {
      auto const room = nested_.extend(head.depth, record.size() + 1);
      room[0] = call_head{call_kind::send, head.words + 1, static_cast<std::uint32_t>(from)}.packed();
      std::copy(record.begin(), record.end(), room.begin() + 1);
      ++p.held;
    }
    if (wants_note(p)) mark_busy(p, from);
  }
  void owe(rank_t to, call_peer& p, call_head head, std::size_t count) {
    p.lanes[lane_of(head.depth)].owed += count;
    if (wants_note(p)) mark_busy(p, to);
  }

  // Beginning functions

  void run(rank_t from, call_head head, std::span<word const> record) {
    goes_on_ = true;
    owner_->run(from, head, record);
  }
  [[nodiscard]] bool may_begin(call_head head) noexcept {
    if (started() + owner_->answer_words(head) > shares_.of_answers()) return false;
    if (lane_of(head.depth) == of_programs) return by_functions_ <= shares_.low() && nested_.is_empty();
    if (!is_full()) return true;
    // Only one, whose calls are sent first: otherwise the tree would be walked in breadth.
    return !has_begun_full_ && (has_begun_full_ = is_stuck());
  }
  /// Returns whether all calls of functions here wait for ranks that are full.
  [[nodiscard]] bool is_stuck() const noexcept {
    bool some = false;
    for (call_peer const& p : peers_) {
      if (!p.control.is_empty() || p.first_cleared() != nullptr) return false;
      if (p.lanes[of_functions].calls.is_empty() && !p.has_long(of_functions)) continue;
      if (!p.is_full) return false;
      some = true;
    }
    return some;
  }
  void begin_waiting() {
    begin_nested();
    std::size_t left = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      rank_t const from = waiting_[i];
      call_peer& p = at(from);
      while (!p.input.is_empty() && begin_first(from, p)) {}
      p.is_waiting = !p.input.is_empty();
      if (p.is_waiting) waiting_[left++] = from;
    }
    waiting_.resize(left);
  }
  /// Begins calls of functions, the deepest first. A long one gives way to the others when this rank asks for
  /// it, since deeper ones may arrive before it.
  void begin_nested() {
    call_landing& landing = landing_[of_functions];
    auto const begin_landed = [&] {
      if (landing.is_complete() && may_begin(call_head::of(landing.text[0]))) run_landed(landing);
    };
    for (begin_landed(); !nested_.is_empty(); begin_landed()) {
      auto const kept = nested_.first().front();
      auto const from = static_cast<rank_t>(call_head::of(kept[0]).number);
      auto const record = kept.subspan(1);
      auto const head = call_head::of(record[0]);
      if (head.kind == call_kind::offer) {
        if (!landing.is_free()) return;
        ask_for(from, record, landing);
      } else {
        if (!may_begin(head)) return;
        run(from, head, record);
      }
      in_ -= record.size();
      --at(from).held;
      owe(from, at(from), head, record.size());
      nested_.drop(kept.size());
    }
  }
  /// Begins the first waiting call of a rank's program. Returns false if its turn has not come.
  bool begin_first(rank_t from, call_peer& p) {
    auto const record = p.input.front();
    auto const head = call_head::of(record[0]);
    call_landing& landing = landing_[of_programs];
    if (head.kind == call_kind::offer) {
      if (landing.is_free()) ask_for(from, record, landing);
      bool const is_here = landing.from == from && landing.is_complete();
      if (!is_here || !may_begin(call_head::of(landing.text[0]))) return false;
      run_landed(landing);
    } else {
      if (!may_begin(head)) return false;
      run(from, head, record);
    }
    in_ -= record.size();
    owe(from, p, head, record.size());
    p.input.drop(record.size());
    return true;
  }
  /// Copies an offered call from its place, or asks for it if this rank does not reach that place.
  void ask_for(rank_t from, std::span<word const> offer, call_landing& landing) {
    landing.ticket = offer[1];
    landing.from = from;
    auto const kind = copy(from, offer, landing) ? call_kind::taken : call_kind::clear;
    auto const reply = extend_answers(from, 2);
    reply[0] = call_head{kind, 2, 0}.packed();
    reply[1] = landing.ticket;
  }
  bool copy(rank_t from, std::span<word const> offer, call_landing& landing) {
    if constexpr (reaching_backend<Backend>) {
      memory_place const place{offer[2], static_cast<memory_place::reach>(offer[3] >> 32U)};
      if (!place.is_there() || !at(from).is_reached) return false;
      // On another node the number of the sender's process may be that of an unrelated one.
      if (this->backend_->locality_of(from) == locality::remote) return false;
      auto const count = static_cast<std::size_t>(offer[3] & 0xffffffffU);
      landing.text.resize(count);
      auto const into = std::as_writable_bytes(std::span(landing.text));
      try {
        if (auto const* const there = this->backend_->address_of(place)) {
          std::memcpy(into.data(), there, into.size());
        } else {
          this->backend_->read_from(from, place, into, "call");
        }
        // Where processes do not see each other, a number of a process may be that of another one.
        if (auto const head = call_head::of(landing.text[0]);
            head.words == count && (head.kind == call_kind::call || head.kind == call_kind::send)) {
          note_most();
          return true;
        }
      } catch (error const&) {  // the system forbids it, or the rank is gone, which the next wait notices
      }
      at(from).is_reached = false;
      landing.text.clear();
    }
    return false;
  }
  void run_landed(call_landing& landing) {
    run(landing.from, call_head::of(landing.text[0]), landing.text);
    landing = {};
  }
  /// Tells the waiting callers whether functions begin here.
  void note_full() {
    was_full_ = is_full();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (wants_note(peers_[i])) mark_busy(peers_[i], static_cast<rank_t>(i));
    }
  }

  bool ordered_;
  Owner* owner_;
  std::vector<rank_t> waiting_;  ///< ranks whose programs' calls wait to begin
  call_stack nested_;            ///< calls of functions that wait, each behind its caller's number
  bool is_single_ = false;
  bool was_full_ = false;
  bool has_begun_full_ = false;
};

}  // namespace PGAS_NAMESPACE::detail
