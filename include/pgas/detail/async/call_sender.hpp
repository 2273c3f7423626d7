// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <pgas/async/call_options.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/async/call_message.hpp>
#include <pgas/detail/async/call_peer.hpp>
#include <pgas/detail/async/call_record.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A mailbox in which a sender writes a message where its receiver reads it. The place has word alignment.
template <class M>
concept mailbox_with_places = mailbox<M> && requires(M& m, rank_t to, void (*write)(std::byte*)) {
  { m.try_write(to, std::size_t{}, write) } -> std::same_as<bool>;
};

/// The sending side of call_post: queues of records, and the messages that are made of them.
template <mailbox_backend Backend>
class call_sender {
  using Mailbox = typename Backend::mailbox_type;

 public:
  /// The words of a message, without its head.
  static constexpr std::size_t most_in_message = Mailbox::max_message_bytes / sizeof(word) - 1;
  static_assert(most_in_message >= 5, "a message has room for the shortest part of a failure");
  /// The words of a record that is sent alone. With two heads they fill one line of 64 bytes.
  static constexpr std::size_t most_alone = std::min<std::size_t>(6, most_in_message);

  call_sender(call_sender const&) = delete;
  call_sender& operator=(call_sender const&) = delete;

  [[nodiscard]] call_shares const& shares() const noexcept { return shares_; }
  /// The words of calls that this rank has started and that have not ended, and the most words of all kinds
  /// so far.
  [[nodiscard]] std::size_t started() const noexcept { return queued_ + awaited_; }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  /// Counts the messages that have come.
  [[nodiscard]] std::uint64_t news() const noexcept { return news_; }

  /// The words that a record of this length needs.
  [[nodiscard]] std::size_t cost(std::size_t count) const noexcept {
    return count <= shares_.eager ? count : count + offer_words;
  }
  /// Counts the words of a call that awaits its answer.
  void await(std::size_t count) noexcept {
    awaited_ += count;
    note_most();
  }
  void end_await(std::size_t count) noexcept { awaited_ -= count; }

  /// Returns room for the record of a call, which the caller fills. Then it calls `posted`.
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
    std::span<word> const text = p.large.back().text;
    memory_place place;
    if constexpr (reaching_backend<Backend>) place = backend_->place_of(std::as_bytes(text));
    offer[2] = place.at;
    offer[3] = word{static_cast<std::uint32_t>(place.by)} << 32U | count;
    return text;
  }
  /// Sends full messages, or all records if the call is urgent.
  void posted(rank_t to, std::uint32_t depth, bool is_urgent) {
    call_peer& p = at(to);
    mark_busy(p, to);
    if (is_urgent) {
      while (send_message(to, false)) {}
    } else if (p.lanes[lane_of(depth)].calls.size() >= most_in_message) {
      while (send_message(to, true)) {}
    }
    if (!is_at_work_ && (!p.is_sent() || has_input())) remind();
  }
  /// Sends a record at once in a message of its own, if it is short and nothing else waits for that rank.
  /// write(span of words) writes it. Returns false if the record must go through the queue. A record of a
  /// program's call uses room at its receiver.
  template <class Write>
  [[nodiscard]] bool try_send_alone(rank_t to, std::size_t count, bool takes_room, Write&& write) {
    call_peer& p = at(to);
    // If a rank is not busy, its queues are empty here, so the record keeps its place in the order.
    if (count > most_alone || p.is_busy) return false;
    call_lane& lane = p.lanes[of_programs];
    if (takes_room && lane.room < count) return false;
    word const head = head_of(p, call_message_kind::records, 0).packed();
    auto const write_all = [&](word* place) {
      place[0] = head;
      write(std::span(place + 1, count));
    };
    if constexpr (mailbox_with_places<Mailbox>) {
      auto const in_place = [&](std::byte* place) { write_all(reinterpret_cast<word*>(place)); };
      if (!mail_.try_write(to, (count + 1) * sizeof(word), in_place)) return false;
    } else {
      std::array<word, most_alone + 1> text{};
      write_all(text.data());
      if (!mail_.try_send(to, std::as_bytes(std::span(text).first(count + 1)))) return false;
    }
    if (takes_room) lane.room -= count;
    has_told(p);
    if (!is_at_work_ && has_input()) remind();
    return true;
  }
  /// Returns room for a part of an answer, which the caller fills.
  [[nodiscard]] std::span<word> extend_answers(rank_t to, std::size_t count) {
    mark_busy(at(to), to);
    queued_ += count;
    note_most();
    return at(to).control.extend(count);
  }

 protected:
  static constexpr std::uint32_t offer_words = 4;
  static constexpr std::size_t of_programs = 0;
  static constexpr std::size_t of_functions = 1;
  static constexpr std::size_t lane_of(std::uint32_t depth) noexcept {
    return depth == 0 ? of_programs : of_functions;
  }

  call_sender(Mailbox mail, Backend const& backend, call_options const& options)
      : mail_(std::move(mail)),
        backend_(&backend),
        shares_(options, backend.size()),
        self_(backend.rank()),
        peers_(static_cast<std::size_t>(backend.size())) {
    if constexpr (reaching_backend<Backend>) backend.admit_peers();
    for (call_peer& p : peers_) {
      for (call_lane& lane : p.lanes) lane.room = shares_.room;
    }
  }
  ~call_sender() = default;

  /// Sends an empty message to this rank, so that its next wait works: some waits work only when a message
  /// has arrived. If there is no room for it, another message is there.
  void remind() {
    if (is_reminded_) return;
    word const head = call_message_head{{0, 0}, is_full(), 0, call_message_kind::records}.packed();
    is_reminded_ = mail_.try_send(self_, std::as_bytes(std::span(&head, 1)));
  }
  /// Returns whether calls that have arrived wait here.
  [[nodiscard]] bool has_input() const noexcept { return in_ != 0 || landing_[of_functions].is_complete(); }
  [[nodiscard]] call_peer& at(rank_t rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  void mark_busy(call_peer& p, rank_t rank) {
    if (!std::exchange(p.is_busy, true)) busy_.push_back(rank);
  }
  [[nodiscard]] bool is_full() const noexcept { return by_functions_ > shares_.high(); }
  void note_most() noexcept {
    most_ = std::max(most_, started() + in_ + landing_[0].text.size() + landing_[1].text.size());
  }
  [[nodiscard]] bool wants_note(call_peer const& p) const noexcept {
    if (std::max(p.lanes[0].owed, p.lanes[1].owed) >= shares_.room / 2) return true;
    if (is_full() && p.lanes[of_functions].owed != 0) return true;
    return p.told_full != is_full() && (p.told_full || p.held != 0);
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

  /// Ends a long call of this rank that its receiver has copied.
  void has_been_taken(call_peer& p, word ticket) {
    auto const it =
        std::find_if(p.large.begin(), p.large.end(), [&](long_call const& c) { return c.ticket == ticket; });
    has_left(it->text.size(), it->lane);
    p.large.erase(it);
    goes_on_ = true;
  }

  Mailbox mail_;
  Backend const* backend_;
  call_shares shares_;
  rank_t self_;
  std::vector<call_peer> peers_;
  std::vector<rank_t> busy_;               ///< ranks to which something is to be sent
  std::array<call_landing, 2> landing_{};  ///< the long call of each lane that arrives
  std::size_t in_ = 0;                     ///< words of calls that have arrived and wait
  std::size_t by_functions_ = 0;           ///< words of calls of functions that are to be sent
  std::uint64_t news_ = 0;
  bool is_at_work_ = false;
  bool is_reminded_ = false;
  bool goes_on_ = false;  ///< since the last work began, a message has been sent, or a function has run

 private:
  /// Sends one message to a rank; if `only_full`, none that has room for further records.
  bool send_message(rank_t to, bool only_full) {
    call_peer& p = at(to);
    call_message<most_in_message> m;
    m.answers = m.add_whole(p.control, most_in_message);
    if (long_call const* const first = p.first_cleared(); first != nullptr && m.answers == 0) {
      m.kind = call_message_kind::landing;
      m.lane = first->lane;
      m.add_piece(std::span(first->text).subspan(p.landed));
    } else {
      for (std::size_t lane = 2; lane-- > 0;) add_calls(m, p.lanes[lane], lane);
      bool const has_all = m.calls[0] == p.lanes[0].calls.size() && m.calls[1] == p.lanes[1].calls.size();
      if (only_full && has_all && m.used <= most_in_message) return false;
    }
    if (m.used == 1 && !wants_note(p)) return false;
    m.text[0] = head_of(p, m.kind, m.lane).packed();
    if (!mail_.try_send(to, std::as_bytes(std::span(m.text).first(m.used)))) return false;
    has_told(p);
    has_left(p, m);
    return true;
  }
  [[nodiscard]] call_message_head head_of(call_peer const& p, call_message_kind kind,
                                          std::size_t lane) const noexcept {
    return {{static_cast<std::uint32_t>(p.lanes[0].owed), static_cast<std::uint32_t>(p.lanes[1].owed)},
            is_full(),
            lane,
            kind};
  }
  /// Records that a message with such a head has been sent.
  void has_told(call_peer& p) noexcept {
    p.told_full = is_full();
    for (call_lane& lane : p.lanes) lane.owed = 0;
    goes_on_ = true;
  }
  void add_calls(call_message<most_in_message>& m, call_lane& lane, std::size_t number) noexcept {
    if (lane.calls.is_empty() || m.piece != 0) return;
    call_queue const& first = lane.sent == 0 ? lane.calls.first() : lane.calls.begun();
    if (lane.sent == 0) m.calls[number] = m.add_whole(first, lane.room);
    if (m.used != 1) return;
    auto const front = first.front();
    if (lane.sent == 0 && (front.size() <= most_in_message || front.size() > lane.room)) return;
    m.kind = call_message_kind::piece;
    m.lane = number;
    m.add_piece(front.subspan(lane.sent));
  }
  void has_left(call_peer& p, call_message<most_in_message> const& m) {
    p.control.drop(m.answers);
    queued_ -= m.answers;
    for (std::size_t lane = 0; lane < 2; ++lane) {
      p.lanes[lane].calls.drop(m.calls[lane]);
      p.lanes[lane].room -= m.calls[lane];
      has_left(m.calls[lane], lane);
    }
    call_lane& lane = p.lanes[m.lane];
    if (m.kind == call_message_kind::piece) {
      bool const is_first = lane.sent == 0;
      if (is_first) lane.calls.begin();
      std::size_t const all = lane.calls.begun().front().size();
      if (is_first) lane.room -= all;
      lane.sent += m.piece;
      if (lane.sent == all) {
        lane.calls.drop_begun();
        lane.sent = 0;
        has_left(all, m.lane);
      }
    } else if (m.kind == call_message_kind::landing) {
      p.landed += m.piece;
      if (p.landed == p.first_cleared()->text.size()) {
        has_left(p.landed, m.lane);
        p.drop_cleared();
      }
    }
  }
  void has_left(std::size_t count, std::size_t lane) noexcept {
    queued_ -= count;
    if (lane == of_functions) by_functions_ -= count;
  }

  word tickets_ = 0;
  std::size_t queued_ = 0;   ///< words of records to be sent
  std::size_t awaited_ = 0;  ///< words of calls without an answer
  std::size_t most_ = 0;     ///< of all words together, so far
};

}  // namespace PGAS_NAMESPACE::detail
