// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <memory>
#include <pgas/detail/backends/cluster/near_ranks.hpp>
#include <pgas/detail/backends/cluster/packets.hpp>
#include <pgas/detail/backends/cluster/server.hpp>
#include <pgas/detail/mpi/letters.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::cluster {

/// A rank's wire to the ranks of other nodes: it sends this rank's requests, and carries out theirs.
///
/// Source    active messages (von Eicken, Culler, Goldstein and Schauser 1992), over two-sided MPI.
/// States    A rank carries out requests for its memory whenever it polls, with plain stores and the
///           processor's atomics, as ranks of its node do. Requests wait in the sender's packet until the
///           sender waits for their effect: a flush, a question, a change of a word. So small puts cost a
///           copy each, and a put and the following signal are one message.
/// Words     A store to a word does not wait, nor does an addition without a result. Before this rank makes a
///           release visible to any other rank, the receipt for such a store has arrived (`settle`), unless
///           the word is `unconfirmed`. The order of packets covers the word's own rank.
/// Differs   from one-sided MPI: a put needs no reply of its own, and order costs nothing. Words, elements
///           and near stores meet in one processor's atomics. A target that computes answers later, as it
///           does on an MPI without hardware for one-sided access.
class wire : public packets<wire> {
 public:
  /// Collective over the job.
  explicit wire(std::shared_ptr<mpi::member> mine) : packets(std::move(mine)) {}

  [[nodiscard]] homes& own_memory() noexcept { return homes_; }

  /// A transfer that has not begun: the last one again, if it has ended and is not in use.
  [[nodiscard]] std::shared_ptr<transfer> new_transfer() {
    if (last_transfer_.use_count() != 1) last_transfer_ = std::make_shared<transfer>();
    *last_transfer_ = {};
    return last_transfer_;
  }

  // Transfers to and from the memory `home` of rank `target` of the job. Those with a transfer `of` are
  // complete when it is; the others are complete at a flush.

  void put(rank_t target, std::uint64_t home, std::uint64_t offset, bytes_in from) {
    if (from.size() <= longest_in_packets) return put_in_packets(meet(target), home, offset, from);
    auto const all = new_transfer();
    start_put(all, target, home, offset, from);
    outlast(*all);
  }
  void start_put(std::shared_ptr<transfer> const& of, rank_t target, std::uint64_t home, std::uint64_t offset,
                 bytes_in from) {
    if (from.size() <= longest_in_packets) return put(target, home, offset, from);
    peer& to = meet(target);
    in_pieces(from, most, [&](std::size_t first, bytes_in piece) {
      request(to, {.what = action::put_long, .home = home, .offset = offset + first, .value = piece.size()});
      send_in_bounds(to);
      ++of->open;
      send_long({.of = of}, target, long_kind::put, piece);
    });
  }
  /// Changes elements of the target by a request of this kind.
  void combine(rank_t target, request_head const& head, bytes_in values) {
    request(meet(target), head, values);
  }
  void put_rows(rank_t target, std::uint64_t home, std::uint64_t offset, std::size_t pitch,
                std::byte const* from, std::size_t from_pitch, row_shape shape) {
    row_places const places{shape.rows, shape.row_bytes, pitch};
    std::byte* const body =
        begin_request(meet(target), {.what = action::put_rows, .home = home, .offset = offset},
                      sizeof places + shape.rows * shape.row_bytes);
    std::memcpy(body, &places, sizeof places);
    pack_rows(body + sizeof places, from, from_pitch, shape);
  }

  void get(std::shared_ptr<transfer> const& of, rank_t target, std::uint64_t home, std::uint64_t offset,
           bytes_out into) {
    peer& from = meet(target);
    bound_answers(from);
    if (into.size() <= longest_in_packets) {
      return in_pieces(into, longest_body, [&](std::size_t first, bytes_out piece) {
        request(from, {.what = action::get, .home = home, .offset = offset + first, .value = piece.size()});
        await_answer(from, {of, piece.data(), piece.size(), {1, piece.size()}});
      });
    }
    in_pieces(into, most, [&](std::size_t first, bytes_out piece) {
      request(from,
              {.what = action::get_long, .home = home, .offset = offset + first, .value = piece.size()});
      ++of->open;
      ++from.long_gets;
      receive_long({.of = of, .gets_from = &from}, target, long_kind::get, piece);
    });
    send(from, false);
  }
  void get_rows(std::shared_ptr<transfer> const& of, rank_t target, std::uint64_t home, std::uint64_t offset,
                std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape) {
    peer& from = meet(target);
    bound_answers(from);
    row_places const places{shape.rows, shape.row_bytes, pitch};
    request(from, {.what = action::get_rows, .home = home, .offset = offset},
            std::as_bytes(std::span(&places, 1)));
    await_answer(from, {of, into, into_pitch, shape});
  }

  /// Sends what has gathered for the target.
  void start(rank_t target) {
    if (peer& to = meet(target); to.has_requests) send(to, false);
  }
  /// Returns when all requests to the target have been carried out, and all answers are here.
  void flush(rank_t target) {
    peer& to = meet(target);
    ask_receipt(to);
    await([&] { return to.arrived >= to.last_request && has_answered(to); }, to, "flush");
  }
  /// Starts the receipt for which a flush would wait.
  void begin_flush(rank_t target) { ask_receipt(meet(target)); }
  /// Returns when the answers of the target are here.
  void flush_local(rank_t target) {
    peer& to = meet(target);
    if (has_answered(to)) return;
    start(target);
    await([&] { return has_answered(to); }, to, "flush");
  }

  /// Returns when all requests of this rank have been carried out, and all answers are here.
  void drain() {
    for_each_peer([&](peer& each) { ask_receipt(each); });
    for_each_peer([&](peer& each) {
      await([&] { return each.arrived >= each.last_request && has_answered(each); }, each, "run");
    });
  }

  /// Returns when a transfer with the target is over.
  void await_transfer(transfer const& of, rank_t target, std::string_view operation) {
    if (of.open != 0) await([&] { return of.open == 0; }, meet(target), operation);
  }
  /// The same, even if the job fails meanwhile: MPI uses private memory until then.
  void outlast(transfer const& of) {
    outlast([&] { return of.open == 0; });
  }
  /// Returns when no answer of the target is outstanding, even if the job fails meanwhile.
  void outlast_answers(rank_t target) {
    peer& to = meet(target);
    start(target);
    outlast([&] { return has_answered(to); });
  }

  /// Sends a question to the target, and returns the answer's value.
  std::uint64_t ask(rank_t target, request_head const& head, bytes_in body, std::string_view operation) {
    peer& to = meet(target);
    auto const of = new_transfer();
    request(to, head, body);
    await_answer(to, {.of = of});
    send(to, false);
    await([&] { return of->open == 0; }, to, operation);
    return of->value;
  }

  /// Changes a word of the target without an answer. A relaxed change leaves with this rank's next packet to
  /// the target, or when this rank polls. A change that need not be confirmed asks for no receipt.
  void change_word(rank_t target, request_head const& head, std::memory_order order, bool is_confirmed) {
    peer& to = meet(target);
    request(to, head);
    if (!is_confirmed && order != std::memory_order_relaxed) {
      to.last_unconfirmed = to.sent + 1;
      return send_in_bounds(to);
    }
    if (to.last_word == 0) unsettled_.push_back(&to);
    to.last_word = to.sent + 1;
    if (order == std::memory_order_relaxed) return;
    send_in_bounds(to, true);
    if (order == std::memory_order_seq_cst) settle(nullptr);
  }
  /// Call it before an operation of this order on a word of `owner`, or of this node if that is -1. If the
  /// operation is a release, returns when this rank's earlier changes of other ranks' words have been carried
  /// out.
  void settle(std::memory_order order, rank_t owner) {
    if (unsettled_.empty() || order == std::memory_order_relaxed || order == std::memory_order_acquire)
      return;
    settle(owner < 0 ? nullptr : &meet(owner));
  }
  /// Returns when all changes of words by this rank have been carried out, or is_over() is true. A rank whose
  /// signal has ended this rank's wait may be in a call of MPI, where it sends no receipt.
  template <class Condition>
  void settle_unless(Condition const& is_over) {
    for_each_peer(
        [&](peer& each) { await_receipt(each, std::max(each.last_word, each.last_unconfirmed), is_over); });
  }

  // Letters of mailboxes travel behind this rank's earlier requests to their receiver, and do not wait.

  void add(std::uint64_t number, mpi::letter_box& box) { boxes_.add(number, box); }
  void remove(std::uint64_t number) { boxes_.remove(number); }
  /// Returns whether no change by this rank of a word is under way, except to `target`. Asks for the
  /// receipts.
  [[nodiscard]] bool is_settled(rank_t target) {
    std::erase_if(unsettled_, [&](peer* const each) {
      if (each->arrived < each->last_word) {
        if (each->rank != target && each->asked < each->last_word) send(*each, true);
        return false;
      }
      each->last_word = 0;
      return true;
    });
    return std::all_of(unsettled_.begin(), unsettled_.end(),
                       [&](peer const* each) { return each->rank == target; });
  }
  void send(rank_t target, mpi::letter_head const& head, bytes_in letter) {
    send_at_once(meet(target), request_of(action::letter, head), letter);
  }
  void send_room(rank_t target, mpi::letter_head const& head) {
    send_at_once(meet(target), request_of(action::room, head), {});
  }

  /// Carries out what has arrived, and sends what other ranks may be waiting for.
  void poll() {
    for (peer* const each : unsettled_) {
      if (each->last_word > each->sent) send(*each, true);
    }
    go_on();
  }

 private:
  friend packets<wire>;
  using packets::send;

  static constexpr std::size_t most_open = 256;               ///< answers that a peer owes
  static constexpr std::size_t most = std::size_t{1} << 30U;  ///< bytes of a message, whose count is an int

  template <class Bytes, class Use>
  static void in_pieces(Bytes all, std::size_t longest, Use&& use) {
    for (std::size_t first = 0; first < all.size(); first += longest)
      use(first, all.subspan(first, std::min(all.size() - first, longest)));
  }
  /// Each packet leaves when it is full, so that the receiver carries it out while the next one fills.
  void put_in_packets(peer& to, std::uint64_t home, std::uint64_t offset, bytes_in from) {
    in_pieces(from, longest_put, [&](std::size_t first, bytes_in piece) {
      request(to, {.what = action::put, .home = home, .offset = offset + first}, piece);
    });
  }
  /// Waits if the target owes too many answers: it would keep them all in memory, and MPI has a limited
  /// number of requests for long ones.
  void bound_answers(peer& from) {
    auto const answers = [&from] { return from.open.size() + from.long_gets; };
    if (answers() <= most_open) return;
    if (from.has_requests) send(from, false);
    await([&] { return answers() <= most_open / 2; }, from, "get");
  }
  static bool has_answered(peer const& other) noexcept { return other.open.empty() && other.long_gets == 0; }
  static void await_answer(peer& from, question asked) {
    ++asked.of->open;
    from.open.push_back(std::move(asked));
  }
  template <class Condition>
  void outlast(Condition const& is_over) {
    while (!is_over()) {
      poll();
      owner().poll();
      give_up_core();
    }
  }
  /// Returns when the peer has carried out this rank's packet of this number.
  template <class Condition>
  void await_receipt(peer& to, std::uint64_t number, Condition const& is_over) {
    if (to.asked < number && to.arrived < number) send(to, true);
    await([&] { return to.arrived >= number || is_over(); }, to, "control word");
  }
  void settle(peer const* except) {
    for (std::size_t i = 0; i < unsettled_.size();) {
      peer& to = *unsettled_[i];
      if (&to == except) {
        ++i;
        continue;
      }
      await_receipt(to, to.last_word, [] { return false; });
      to.last_word = 0;
      unsettled_.erase(unsettled_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void carry_out(peer& from, request_head const& head, bytes_in body) {
    switch (head.what) {
      case action::put:
        if (std::byte* const to = reach(from, head, body.size()); to != nullptr && !body.empty())
          std::memcpy(to, body.data(), body.size());
        return;
      case action::element_combine:
        if (std::byte* const at = reach(from, head, body.size()); at != nullptr)
          combine_elements(head, body, at);
        return;
      case action::put_rows: {
        auto const rows = read_as<row_places>(body.data());
        if (std::byte* const to = reach(from, head, extent_of(rows)); to != nullptr)
          unpack_rows(to, rows.pitch, body.data() + sizeof rows, {rows.rows, rows.row_bytes});
        return;
      }
      case action::get: {
        std::byte const* const at = reach(from, head, head.value);
        std::byte* const to = begin_answer(from, 0, head.value);
        if (at != nullptr && head.value != 0) std::memcpy(to, at, head.value);
        return;
      }
      case action::get_rows: {
        auto const rows = read_as<row_places>(body.data());
        std::byte const* const at = reach(from, head, extent_of(rows));
        std::byte* const to = begin_answer(from, 0, rows.rows * rows.row_bytes);
        if (at != nullptr) pack_rows(to, at, rows.pitch, {rows.rows, rows.row_bytes});
        return;
      }
      case action::put_long: {
        long_one one{.puts_here = &from};
        bytes_out const into = reach_long(from, head, one);
        return receive_long(std::move(one), from.rank, long_kind::put, into);
      }
      case action::get_long: {
        long_one one;
        bytes_in const at = reach_long(from, head, one);
        return send_long(std::move(one), from.rank, long_kind::get, at);
      }
      case action::element_modify:
      case action::element_compare:
      case action::element_load:
      case action::element_store: {
        std::byte* const at = reach(from, head, element_bytes(head.element));
        auto const old = at != nullptr ? detail::carry_out(element_request_of(head, body), at) : std::nullopt;
        begin_answer(from, old.value_or(0), 0);
        return;
      }
      case action::answer: {
        question const asked = std::move(from.open.front());
        from.open.pop_front();
        asked.of->value = head.value;
        --asked.of->open;
        if (asked.into != nullptr) unpack_rows(asked.into, asked.pitch, body.data(), asked.shape);
        return;
      }
      case action::letter:
        return boxes_.deliver({head.home, head.offset, head.value}, body);
      case action::room:
        return boxes_.deliver_room({head.home, head.offset, head.value});
      default: {
        std::byte* const at = reach(from, head, sizeof(word));
        word const old = at != nullptr ? carry_out_on_word(head, body, at) : 0;
        if (is_question(head.what)) begin_answer(from, old, 0);
      }
    }
  }

  static constexpr request_head request_of(action what, mpi::letter_head const& head) noexcept {
    return {.what = what, .home = head.box, .offset = head.from, .value = head.room};
  }
  static constexpr bool is_question(action on_word) noexcept {
    return on_word != action::word_store && on_word != action::word_add_only &&
           on_word != action::word_flip_only;
  }
  static std::uint64_t extent_of(row_places const& rows) noexcept {
    return rows.rows == 0 ? 0 : (rows.rows - 1) * rows.pitch + rows.row_bytes;
  }
  /// The address that a request names. If there is no such memory, the job fails.
  std::byte* reach(peer const& from, request_head const& head, std::uint64_t bytes) {
    std::byte* const at = homes_.find(head.home, head.offset, bytes);
    if (at == nullptr) {
      job const& mine = owner().of_job();
      mine.mark_failed(from.rank,
                       text_of({"rank ", from.rank, " has accessed memory of rank ", mine.rank(),
                                " that it has given up; end all accesses before a rank destroys a window"}),
                       errc::wrong_order);
    }
    return at;
  }
  /// The same for a long put or get, whose message arrives in any case.
  bytes_out reach_long(peer const& from, request_head const& head, long_one& one) {
    if (std::byte* const at = reach(from, head, head.value); at != nullptr) return {at, head.value};
    one.scratch.resize(head.value);
    return one.scratch;
  }

  homes homes_;
  mpi::letter_boxes boxes_;
  std::shared_ptr<transfer> last_transfer_;
  std::vector<peer*> unsettled_;  ///< the peers with changes of words that may be under way
};

}  // namespace PGAS_NAMESPACE::detail::cluster
