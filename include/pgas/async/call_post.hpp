// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/async/call_options.hpp>
#include <pgas/async/call_peer.hpp>
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
  bool has_lanes = true;     ///< calls of functions do not wait for calls of programs
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
/// Lanes     Calls of programs and of functions have queues, room and a landing place of their own. A call of
///           a program begins while functions have started little here; one of a function also later, and the
///           deepest comes first. So a tree of calls goes on before another one begins.
/// Full      A rank whose functions have started much begins none, since each may start more. It tells its
///           callers. If all calls of a full rank are for ranks that are full too, they may wait for each
///           other: this one then begins a function nevertheless, out of memory that only functions use.
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

  /// `owner` runs functions and ends calls.
  call_post(mailbox_type mail, rank_t self, rank_t ranks, call_options const& options, Owner& owner)
      : mail_(std::move(mail)),
        shares_(options, ranks),
        self_(self),
        ordered_(options.ordered),
        owner_(&owner),
        peers_(static_cast<std::size_t>(ranks)) {
    for (call_peer& p : peers_) {
      for (call_lane& lane : p.lanes) lane.room = shares_.room;
    }
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
  [[nodiscard]] std::span<word> extend(rank_t to, std::uint32_t depth, std::size_t count) {
    call_peer& p = at(to);
    std::size_t const lane = lane_of(depth);
    queued_ += cost(count);
    if (lane == of_functions) by_functions_ += cost(count);
    note_most();
    auto& calls = p.lanes[lane].calls;
    if (count <= shares_.eager) return calls.extend(depth, count);
    auto const offer = calls.extend(depth, offer_words);
    offer[0] = call_head{call_kind::offer, offer_words, 0, depth}.packed();
    offer[1] = ++tickets_;
    p.large.push_back({tickets_, lane, std::vector<word>(count)});
    return p.large.back().text;
  }
  /// Sends what fills messages, or all, if the call is urgent.
  void posted(rank_t to, std::uint32_t depth, bool is_urgent) {
    call_peer& p = at(to);
    mark_busy(p, to);
    if (is_urgent) {
      while (send_message(to, false)) {}
    } else if (p.lanes[lane_of(depth)].calls.size() >= most_in_message) {
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
    has_begun_full_ = false;
    std::size_t const count = mail_.poll([this](rank_t from, bytes_in bytes) { arrive(from, bytes); });
    if (!waiting_.empty() || !nested_.is_empty() || !landing_[1].is_free()) begin_waiting();
    if (is_full() != was_full_) note_full();
    if (!busy_.empty()) send_all();
    return count;
  }

 private:
  static constexpr std::uint32_t offer_words = 2;
  static constexpr std::size_t of_programs = 0;
  static constexpr std::size_t of_functions = Steps.has_lanes ? 1 : 0;
  static constexpr std::size_t lane_of(std::uint32_t depth) noexcept {
    return depth == 0 ? of_programs : of_functions;
  }
  enum class message_kind : std::uint8_t { records, piece, landing };

  /// A message that is made: its words, and their sources.
  struct outgoing {
    std::array<word, most_in_message + 1> text;
    std::size_t used = 1;  ///< words, with the head
    message_kind kind = message_kind::records;
    std::size_t lane = 0;
    std::size_t answers = 0;  ///< words of answers, and of whole calls of each lane
    std::array<std::size_t, 2> calls{};
    std::size_t piece = 0;  ///< words of a long record

    void add(std::span<word const> words) noexcept {
      std::copy(words.begin(), words.end(), text.begin() + static_cast<std::ptrdiff_t>(used));
      used += words.size();
    }
    /// Adds whole records, of up to `most` words. Returns their words.
    std::size_t add_whole(call_queue const& from, std::size_t most) noexcept {
      most = std::min(most, text.size() - used);
      auto const rest = from.rest();
      std::size_t count = 0;
      while (count < rest.size()) {
        std::size_t const next = count + call_head::of(rest[count]).words;
        if (next > most) break;
        count = next;
      }
      add(rest.first(count));
      return count;
    }
  };

  [[nodiscard]] call_peer& at(rank_t rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  void mark_busy(call_peer& p, rank_t rank) {
    if (!std::exchange(p.is_busy, true)) busy_.push_back(rank);
  }
  [[nodiscard]] bool is_full() const noexcept { return by_functions_ > shares_.high(); }
  void note_most() noexcept {
    most_ = std::max(most_, started() + in_ + landing_[0].text.size() + landing_[1].text.size());
  }
  [[nodiscard]] bool wants_note(call_peer const& p) const noexcept {
    if (Steps.returns_room && std::max(p.lanes[0].owed, p.lanes[1].owed) >= shares_.room / 2) return true;
    if (is_full() && p.lanes[of_functions].owed != 0) return true;
    return p.told_full != is_full() && (p.told_full || p.held != 0);
  }

  // Sending

  /// Sends one message to a rank; if `only_full`, none that has room for further records.
  bool send_message(rank_t to, bool only_full) {
    call_peer& p = at(to);
    outgoing m;
    m.answers = m.add_whole(p.control, most_in_message);
    if (long_call const* const first = p.first_cleared(); first != nullptr && m.answers == 0) {
      m.kind = message_kind::landing;
      m.lane = first->lane;
      add_piece(m, std::span(first->text).subspan(p.landed));
    } else {
      for (std::size_t lane = 2; lane-- > 0;) add_calls(m, p.lanes[lane], lane);
      bool const has_all = m.calls[0] == p.lanes[0].calls.size() && m.calls[1] == p.lanes[1].calls.size();
      if (only_full && has_all && m.used <= most_in_message) return false;
    }
    if (m.used == 1 && !wants_note(p)) return false;
    m.text[0] = word{p.lanes[0].owed} << 40U | word{p.lanes[1].owed} << 16U | word{is_full()} << 8U |
                word{m.lane} << 4U | static_cast<word>(m.kind);
    if (!mail_.try_send(to, std::as_bytes(std::span(m.text).first(m.used)))) return false;
    p.told_full = is_full();
    has_left(p, m);
    return true;
  }
  static void add_piece(outgoing& m, std::span<word const> rest) noexcept {
    m.piece = std::min(rest.size(), most_in_message);
    m.add(rest.first(m.piece));
  }
  void add_calls(outgoing& m, call_lane& lane, std::size_t number) noexcept {
    if (lane.calls.is_empty() || m.piece != 0) return;
    call_queue const& first = lane.sent == 0 ? lane.calls.first() : lane.calls.begun();
    if (lane.sent == 0) m.calls[number] = m.add_whole(first, lane.room);
    if (m.used != 1) return;
    auto const front = first.front();
    if (lane.sent == 0 && (front.size() <= most_in_message || front.size() > lane.room)) return;
    m.kind = message_kind::piece;
    m.lane = number;
    add_piece(m, front.subspan(lane.sent));
  }
  void has_left(call_peer& p, outgoing const& m) {
    p.control.drop(m.answers);
    queued_ -= m.answers;
    for (std::size_t lane = 0; lane < 2; ++lane) {
      p.lanes[lane].owed = 0;
      p.lanes[lane].calls.drop(m.calls[lane]);
      p.lanes[lane].room -= m.calls[lane];
      has_left(m.calls[lane], lane);
    }
    call_lane& lane = p.lanes[m.lane];
    if (m.kind == message_kind::piece) {
      std::size_t const all = lane.calls.begun().front().size();
      if (lane.sent == 0) {
        lane.room -= all;
        lane.calls.begin();
      }
      if ((lane.sent += m.piece) == all) {
        lane.calls.drop_begun();
        lane.sent = 0;
        has_left(all, m.lane);
      }
    } else if (m.kind == message_kind::landing && (p.landed += m.piece) == p.first_cleared()->text.size()) {
      has_left(p.landed, m.lane);
      p.drop_cleared();
    }
  }
  void has_left(std::size_t count, std::size_t lane) noexcept {
    queued_ -= count;
    if (lane == of_functions) by_functions_ -= count;
  }
  void send_all() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      rank_t const to = busy_[i];
      call_peer& p = at(to);
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
    call_peer& p = at(from);
    p.lanes[0].room += text[0] >> 40U;
    p.lanes[1].room += text[0] >> 16U & 0xffffffU;
    p.is_full = (text[0] >> 8U & 1U) != 0;
    if (from == self_) is_reminded_ = false;
    std::size_t const lane = text[0] >> 4U & 1U;
    auto& piece = p.lanes[lane].piece;
    auto rest = text.subspan(1);
    switch (static_cast<message_kind>(text[0] & 0xfU)) {
      case message_kind::records:
        while (!rest.empty()) {
          auto const head = call_head::of(rest[0]);
          receive(from, p, head, rest.first(head.words));
          rest = rest.subspan(head.words);
        }
        break;
      case message_kind::piece:
        piece.insert(piece.end(), rest.begin(), rest.end());
        count_in(rest.size());
        if (auto const head = call_head::of(piece[0]); piece.size() == head.words) {
          in_ -= piece.size();
          receive(from, p, head, piece);
          piece.clear();
        }
        break;
      case message_kind::landing:
        landing_[lane].text.insert(landing_[lane].text.end(), rest.begin(), rest.end());
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
    } else if (head.kind != call_kind::offer && may_overtake(p, head) && may_begin(head)) {
      owner_->run(from, head, record);
      owe(from, p, head, record.size());
    } else {
      keep(from, p, head, record);
    }
  }
  /// Returns whether a call that has come may begin before those that wait.
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

  [[nodiscard]] bool may_begin(call_head head) noexcept {
    if (started() + owner_->answer_words(head) > shares_.of_answers()) return false;
    if (lane_of(head.depth) == of_programs && Steps.has_lanes)
      return by_functions_ <= shares_.low() && nested_.is_empty();
    if (!is_full()) return true;
    // One, and what it starts can leave first: else the tree would be walked in breadth.
    return !has_begun_full_ && (has_begun_full_ = is_stuck());
  }
  /// Returns whether all that functions have started here waits for ranks that are full.
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
  /// Begins calls of functions, the deepest first. A long one leaves the others when it is asked for, since
  /// deeper ones may come before it has landed.
  void begin_nested() {
    call_landing& landing = landing_[of_functions];
    if (of_functions != of_programs && landing.is_complete() && may_begin(call_head::of(landing.text[0])))
      run_landed(landing);
    while (!nested_.is_empty()) {
      auto const kept = nested_.first().front();
      auto const from = static_cast<rank_t>(call_head::of(kept[0]).number);
      auto const record = kept.subspan(1);
      auto const head = call_head::of(record[0]);
      if (head.kind == call_kind::offer) {
        if (!landing.is_free()) return;
        ask_for(from, record[1], landing);
      } else {
        if (!may_begin(head)) return;
        owner_->run(from, head, record);
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
      if (landing.is_free()) ask_for(from, record[1], landing);
      bool const is_here = landing.from == from && landing.is_complete();
      if (!is_here || !may_begin(call_head::of(landing.text[0]))) return false;
      run_landed(landing);
    } else {
      if (!may_begin(head)) return false;
      owner_->run(from, head, record);
    }
    in_ -= record.size();
    owe(from, p, head, record.size());
    p.input.drop(record.size());
    return true;
  }
  void ask_for(rank_t from, word ticket, call_landing& landing) {
    landing.ticket = ticket;
    landing.from = from;
    auto const clear = extend_answers(from, 2);
    clear[0] = call_head{call_kind::clear, 2, 0}.packed();
    clear[1] = ticket;
  }
  void run_landed(call_landing& landing) {
    owner_->run(landing.from, call_head::of(landing.text[0]), landing.text);
    landing = {};
  }
  /// Tells the callers that wait here that functions begin, or do not.
  void note_full() {
    was_full_ = is_full();
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (wants_note(peers_[i])) mark_busy(peers_[i], static_cast<rank_t>(i));
    }
  }

  mailbox_type mail_;
  call_shares shares_;
  rank_t self_;
  bool ordered_;
  Owner* owner_;
  std::vector<call_peer> peers_;
  std::vector<rank_t> busy_;               ///< ranks to which something is to be sent
  std::vector<rank_t> waiting_;            ///< ranks whose programs' calls wait to begin
  call_stack nested_;                      ///< calls of functions that wait, each behind its caller's number
  std::array<call_landing, 2> landing_{};  ///< the long call of each lane that arrives
  word tickets_ = 0;
  std::size_t queued_ = 0;        ///< words of records to be sent
  std::size_t by_functions_ = 0;  ///< words among them of calls of functions
  std::size_t awaited_ = 0;       ///< words of calls without an answer
  std::size_t in_ = 0;            ///< words of calls that have arrived and wait
  std::size_t most_ = 0;          ///< of all words together, so far
  std::uint64_t news_ = 0;
  bool was_full_ = false;
  bool has_begun_full_ = false;
  bool is_at_work_ = false;
  bool is_reminded_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
