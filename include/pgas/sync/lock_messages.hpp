// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/control/word_channel.hpp>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol sends messages to a queue for each rank's part: a rank asks and waits for the answer,
/// first come, first served.
///
/// Source: MPICH over the message buffers of RCKMPI, as Christgau and Schnor 2019, section 4.4, describe it.
/// The paper compares the other protocols with this one.
/// `mailed_locks` is their protocol with the backend's mailbox.
///
/// Words     of a target: the word_channel to it, for requests and releases.
///           bell, a cell: the number of messages announced since the last receiver began; 0: no rank
///           receives.
///           heard, a cell for each sender: the number of its messages that were received.
///           The queue: holders, 2 for each shared one, or 1; first and last, which count the requests that
///           left and joined it; and n requests. Only the receiver changes the words of the queue.
///           answer, a cell of each rank: the number of its last answered request, and the answer.
/// States    After sending, a rank increments the bell. The rank that found 0 there becomes the receiver for
///           the target. It receives one message at a time of each sender in turn, until none are left and
///           the bell has not changed. Then it sets the bell to 0. A request joins the queue, a release makes
///           room. Then the receiver answers the first requests of the queue that may hold the part together.
///           It answers a try at once: no, if other ranks hold the part or wait for it. A rank sends a
///           request, receives the answer, and sends a release, so at most two of its messages are on their
///           way to a target.
/// Bound     in the order of the queue. Each other rank overtakes a request that has been sent once at most.
///           The receiver goes on as long as messages come.
/// lock_all  a shared lock on each part, in the order of ranks, when it opens. A rank that holds parts must
///           not wait behind a rank that waits for one of them. Nor must a shared holder wait for a rank that
///           still has to lock the same part shared: an exclusive request may stand between them.
/// Differs   from RCKMPI's, where the target alone receives, whenever it calls the library. There a target
///           that computes keeps all others waiting. Immediate locks of both kinds on more than two ranks
///           even waited for ever (2019, section 6.3.2). Here any rank that sends receives for the target,
///           unless another rank does, so a lock asks nothing of its owner. Immediate; `deferred` makes the
///           other form. RCKMPI's deferred form sends its request when the epoch ends, after the operations
///           have waited in a queue.
/// Memory    2 n slots and 5 + 2 n cells a rank; n words of private state.
/// Costs     without conflict, to get a lock: 2 read-modify-writes, 7 stores and 4 n + 8 loads. To release
///           it: 2, 3 and 4 n + 3. lock_all costs n locks. A rank waits for an own word.
struct lock_messages {
  static constexpr std::string_view name = "lock_messages";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t ranks) noexcept {
    return detail::word_channel<detail::control_archetype>::words(ranks) +
           control_words{.slots = 0, .cells = of_each + 2 * static_cast<std::size_t>(ranks)};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control), lanes_(control, first), first_(first.cells) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      ask(target, kind == lock_kind::shared ? wants_shared : wants_exclusive, "lock");
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!ask(target, kind == lock_kind::shared ? tries_shared : tries_exclusive, "try_lock")) return false;
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind, Boundary& b) {
      b.publish(group(&target, 1));
      tell(target, releases);
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < control_->size(); ++target) ask(target, wants_shared, "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < control_->size(); ++target) tell(target, releases);
    }

   private:
    using channel_type = detail::word_channel<Control>;
    enum message : word { wants_shared, wants_exclusive, tries_shared, tries_exclusive, releases };
    enum answers : word { yes, no };

    // Values of holders.
    static constexpr word alone = 1;
    static constexpr word one_shared = 2;
    static constexpr bool may_hold(bool exclusively, word holders) noexcept {
      return exclusively ? holders == 0 : holders != alone;
    }

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(control_->size()); }
    auto cell(rank_t of, std::size_t i) { return control_->cell(of, first_ + i); }
    auto bell(rank_t target) { return cell(target, 0); }
    auto answer(rank_t of) { return cell(of, 1); }
    auto holders(rank_t target) { return cell(target, 2); }
    auto first(rank_t target) { return cell(target, 3); }
    auto last(rank_t target) { return cell(target, 4); }
    auto request(rank_t target, word number) { return cell(target, of_each + number % size()); }
    auto heard(rank_t target, rank_t from) {
      return cell(target, of_each + size() + static_cast<std::size_t>(from));
    }

    // relaxed: only the receiver changes these words. The bell carries the stores of one receiver to the
    // next.
    template <class Cell>
    static word held(Cell const& c) {
      return c.load(std::memory_order_relaxed);
    }
    template <class Cell>
    static void set(Cell const& c, word value) {
      c.reset_unshared(value, std::memory_order_relaxed);
    }

    /// Sends a request and returns whether the answer is yes.
    bool ask(rank_t target, message what, std::string_view operation) {
      ++asked_;
      tell(target, what);
      return control_->wait_until(
                 answer(control_->rank()), [asked = asked_](word seen) { return seen / 2 == asked; },
                 {.operation = operation, .acquires = target, .alone = what == wants_exclusive}) %
                 2 ==
             yes;
    }

    void tell(rank_t target, message what) {
      lanes_.send(target, what);
      // acq_rel: a release, which pairs with the acquire of the receiver that finds the bell changed, or of
      // the next receiver, so that it finds the message; an acquire of the last receiver's stores.
      word rung = bell(target).fetch_add(1, std::memory_order_acq_rel) + 1;
      if (rung != 1) return;
      do {
        while (receive_once(target)) {}
        // acq_rel: a release to the next receiver; an acquire of messages announced meanwhile.
      } while (!bell(target).compare_exchange(rung, 0, std::memory_order_acq_rel));
    }

    /// Receives a message from each sender that has one. Returns false if none has.
    bool receive_once(rank_t target) {
      bool any = false;
      for (rank_t from = 0; from < control_->size(); ++from) {
        word const number = held(heard(target, from)) + 1;
        // acquire: pairs with the release in send; a release message brings its sender's accesses to the
        // part.
        word const there = lanes_.place(target, from, number).load(std::memory_order_acquire);
        if (!channel_type::holds(there, number)) continue;
        any = true;
        set(heard(target, from), number);
        receive(target, from, channel_type::message_in(there));
      }
      return any;
    }

    void receive(rank_t target, rank_t from, word what) {
      word const now = held(holders(target));
      bool const exclusively = what == wants_exclusive || what == tries_exclusive;
      if (what == releases) {
        set(holders(target), now == alone ? 0 : now - one_shared);
      } else if (what == wants_shared || what == wants_exclusive) {
        word const joined = held(last(target));
        set(request(target, joined), 2 * static_cast<word>(from) + (exclusively ? 1 : 0));
        set(last(target), joined + 1);
      } else if (held(first(target)) != held(last(target)) || !may_hold(exclusively, now)) {
        reply(from, no);
      } else {
        let_in(target, from, exclusively, now);
      }
      answer_first(target);
    }

    void answer_first(rank_t target) {
      for (word next = held(first(target)); next != held(last(target)); set(first(target), ++next)) {
        word const one = held(request(target, next));
        word const now = held(holders(target));
        if (!may_hold(one % 2 != 0, now)) return;
        let_in(target, static_cast<rank_t>(one / 2), one % 2 != 0, now);
      }
    }

    void let_in(rank_t target, rank_t who, bool exclusively, word now) {
      set(holders(target), exclusively ? alone : now + one_shared);
      reply(who, yes);
    }
    void reply(rank_t to, answers what) {
      // A rank has one request at a time, and counts them as they are answered.
      word const number = held(answer(to)) / 2 + 1;
      // release: pairs with the acquire of its wait; brings the accesses of earlier holders to the part.
      answer(to).reset_unshared(2 * number + what, std::memory_order_release);
    }

    Control* control_;
    channel_type lanes_;
    std::size_t first_;
    word asked_ = 0;  ///< the number of this rank's requests
  };

 private:
  static constexpr std::size_t of_each = 5;  ///< cells, apart from those for each rank
};
static_assert(target_lock_protocol<lock_messages>);

}  // namespace PGAS_NAMESPACE::sync
