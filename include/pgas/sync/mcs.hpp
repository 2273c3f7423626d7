// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/word_rows.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol has a queue for each rank's part, first come, first served. Each rank waits for a word
/// of its own.
///
/// Source: Mellor-Crummey and Scott, Scalable reader-writer synchronization for shared-memory
/// multiprocessors, 1991, the fair lock. For exclusive locks alone it is the queue lock from which Christgau
/// and Schnor 2019 start.
///
/// Words     tail, a cell of the target: the last request of the queue. 0: none; 2 (r + 1): a shared request
///           of rank r; one more: an exclusive one.
///           active, a cell of the target: in its upper half the number of ranks that hold the part shared,
///           in its lower half the writer that waits for the last of those, plus one.
///           next, a cell of each rank for each target: the request after its own, as in tail.
///           state, a cell of each rank for each target. Lowest bit: the rank may go on. Next bit: a shared
///           request has come after it while it waited, which it must let in.
/// States    Every request joins at the tail. A request waits to be let in if it stands behind an exclusive
///           request, or behind a shared one that waits. A shared request behind a rank that holds the part
///           goes on at once. The first of the queue with an exclusive request goes on if no rank is active,
///           else the last active rank lets it in. A rank that lets a shared request in has counted it.
///           Shared holders stop being active in any order. A holder whose successor is an exclusive request
///           says so as it stops.
/// Bound     in the order of the exchanges on the tail. Only try_lock may overtake: it may join shared
///           holders while no rank waits for them.
/// lock_all  a shared lock on each part, in the order of ranks, when it opens. A rank that holds parts must
///           not wait behind a rank that waits for one of them. Nor must a shared holder wait for a rank that
///           still has to lock the same part shared: an exclusive request may stand between them.
/// Differs   from the paper: one word has the count of holders and the writer that waits for them. So the
///           last holder learns of that writer, and a writer of the holders, by one read-modify-write. A
///           writer that finds the queue empty reads that word before it changes it. Requests in tail and
///           next say their kind. try_lock is ours.
/// Memory    2 + 2 n cells a rank; n bits of private state.
/// Costs     without conflict, in read-modify-writes to get and to release: exclusive 1 and 1, shared 3 and
///           2. lock_all costs n shared locks.
struct mcs {
  static constexpr std::string_view name = "mcs";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 0, .cells = 2 + 2 * static_cast<std::size_t>(ranks)};
  }

  template <control Control>
  class on {
    using cell_type = decltype(std::declval<Control&>().cell(0, 0));

    /// A part, its words, and this rank's words for it.
    struct place_type {
      rank_t target;
      cell_type tail;
      cell_type active;
      cell_type next;
      cell_type state;
    };

   public:
    on(Control& control, control_words first)
        : control_(&control), words_(control, first), not_queued_(static_cast<std::size_t>(control.size())) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      place_type const at = place(target);
      take(at, kind, "lock");
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!(kind == lock_kind::exclusive ? try_exclusive(target) : try_shared(target))) return false;
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind kind, Boundary& b) {
      place_type const at = place(target);
      b.publish(group(&target, 1));
      let_go(at, kind, "unlock");
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < control_->size(); ++target)
        take(place(target), lock_kind::shared, "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < control_->size(); ++target)
        let_go(place(target), lock_kind::shared, "unlock_all");
    }

   private:
    [[nodiscard]] place_type place(rank_t target) {
      std::size_t const own = 2 + 2 * static_cast<std::size_t>(target);
      return {target, words_.cell(target, 0), words_.cell(target, 1), words_.cell(self(), own),
              words_.cell(self(), own + 1)};
    }

    // A request, as in tail and next.
    static constexpr bool is_exclusive(word request) noexcept { return (request & 1U) != 0; }
    static constexpr rank_t rank_of(word request) noexcept { return static_cast<rank_t>(request / 2 - 1); }
    [[nodiscard]] word request_for(lock_kind kind) const noexcept {
      return 2 * (static_cast<word>(self()) + 1) + (kind == lock_kind::exclusive ? 1 : 0);
    }

    // Values of active.
    static constexpr word one_shared = word{1} << 32U;
    static constexpr bool is_held_shared(word active) noexcept { return active >= one_shared; }
    static constexpr rank_t writer_in(word active) noexcept {
      return static_cast<rank_t>(active % one_shared) - 1;
    }
    static constexpr word as_waiting_writer(rank_t rank) noexcept { return static_cast<word>(rank) + 1; }

    // Values of state.
    static constexpr word may_go_on = 1;
    static constexpr word lets_in_next = 2;

    [[nodiscard]] rank_t self() const noexcept { return self_; }
    cell_type tail(rank_t target) { return words_.cell(target, 0); }
    cell_type active(rank_t target) { return words_.cell(target, 1); }
    cell_type next(rank_t of, rank_t target) {
      return words_.cell(of, 2 + 2 * static_cast<std::size_t>(target));
    }
    cell_type state(rank_t of, rank_t target) {
      return words_.cell(of, 3 + 2 * static_cast<std::size_t>(target));
    }

    void prepare(place_type at) {
      // relaxed: the exchange or compare_exchange that puts this rank at the tail publishes both.
      at.next.reset_unshared(0, std::memory_order_relaxed);
      at.state.reset_unshared(0, std::memory_order_relaxed);
    }
    void let_in(rank_t who, rank_t target) {
      // release: pairs with the acquire load of its wait, and with the acquire of a shared request behind it
      // that finds that it has gone on.
      detail::add(state(who, target), may_go_on, std::memory_order_release);
    }
    word go_on(cell_type state) {
      // release: pairs with the acquire of a shared request behind this one that finds that it has gone on.
      return state.fetch_add(may_go_on, std::memory_order_release);
    }
    // The waits are not inlined, so that compilers inline a lock without conflict into epochs.
    [[gnu::noinline]] word wait_to_be_let_in(rank_t target, lock_kind kind, std::string_view operation,
                                             group by) {
      return control_->wait_until(
          state(self(), target), [](word now) { return (now & may_go_on) != 0; },
          {.operation = operation, .awaited = by, .acquires = target, .alone = kind == lock_kind::exclusive});
    }
    [[gnu::noinline]] word wait_for_next(rank_t target, std::string_view operation) {
      return control_->wait_until(next(self(), target), [](word now) { return now != 0; },
                                  {.operation = operation});
    }

    void take(place_type at, lock_kind kind, std::string_view operation) {
      prepare(at);
      // acq_rel: a successor sees this rank's two words, and this rank sees its predecessor's. A rank that
      // finds 0 has seen the changes to `active` by every rank that was in the queue before it.
      word const before = at.tail.exchange(request_for(kind), std::memory_order_acq_rel);
      if (kind == lock_kind::exclusive) {
        if (before != 0) [[unlikely]]
          return queue_exclusive(at.target, before, operation);
        if (!nobody_is_active(at)) wait_to_be_let_in(at.target, kind, operation, {});
      } else {
        take_shared(at, before, operation);
      }
    }

    [[gnu::noinline]] void queue_exclusive(rank_t target, word before, std::string_view operation) {
      rank_t const by = rank_of(before);
      next(by, target)
          .reset_unshared(request_for(lock_kind::exclusive), std::memory_order_release);  // as for shared
      // Behind a shared request, the last active rank lets this one in; no word tells which rank that will
      // be.
      wait_to_be_let_in(target, lock_kind::exclusive, operation,
                        is_exclusive(before) ? group(&by, 1) : group{});
    }

    /// Returns whether the first of the queue, with an exclusive request, may go on. If not, the last active
    /// rank lets it in.
    bool nobody_is_active(place_type at) {
      // acquire: pairs with the release in stop_being_active. A value of 0 means that all ranks before it
      // have stopped.
      if (at.active.load(std::memory_order_acquire) == 0) [[likely]]
        return true;
      return last_active_has_gone(at.target);
    }
    [[gnu::noinline]] bool last_active_has_gone(rank_t target) {
      if (is_held_shared(active(target).fetch_add(as_waiting_writer(self()), std::memory_order_acq_rel)))
        return false;
      active(target).reset_unshared(0, std::memory_order_relaxed);  // later ranks are behind this one
      return true;
    }

    void take_shared(place_type at, word before, std::string_view operation) {
      word mine = 0;
      if (before == 0) [[likely]] {
        become_active(at.active);
        mine = go_on(at.state);
      } else {
        mine = queue_shared(at.target, before, operation);
      }
      if ((mine & lets_in_next) != 0) [[unlikely]]
        let_follower_in(at.target, operation);
    }
    /// Returns this rank's state once it has gone on.
    [[gnu::noinline]] word queue_shared(rank_t target, word before, std::string_view operation) {
      rank_t const by = rank_of(before);
      word waits = 0;
      // acquire: pairs with the release in let_in or go_on, if `by` has gone on.
      if (is_exclusive(before) ||
          state(by, target).compare_exchange(waits, lets_in_next, std::memory_order_acquire)) {
        // release: pairs with the acquire load of `next` by the predecessor.
        next(by, target).reset_unshared(request_for(lock_kind::shared), std::memory_order_release);
        return wait_to_be_let_in(target, lock_kind::shared, operation, group(&by, 1));
      }
      become_active(active(target));  // `by` is active and cannot leave before it knows its successor
      next(by, target).reset_unshared(request_for(lock_kind::shared), std::memory_order_release);
      return go_on(state(self(), target));
    }
    [[gnu::noinline]] void let_follower_in(rank_t target, std::string_view operation) {
      rank_t const follower = rank_of(wait_for_next(target, operation));
      become_active(active(target));
      let_in(follower, target);
    }

    /// Counts this rank, or the rank that is let in next.
    void become_active(cell_type active) {
      // release: pairs with the acquire in try_shared, which lets in a rank that has been in no queue.
      detail::add(active, one_shared, std::memory_order_release);
    }

    void stop_being_active(place_type at, word successor) {
      bool const announces = successor != 0 && is_exclusive(successor);
      word const change = (announces ? as_waiting_writer(rank_of(successor)) : 0) - one_shared;
      // acq_rel: the last holder has seen the accesses of all before it, and hands them to the writer.
      word const left = at.active.fetch_add(change, std::memory_order_acq_rel) + change;
      if (!is_held_shared(left) && left != 0) [[unlikely]]
        let_writer_in(at.target, writer_in(left));
    }
    [[gnu::noinline]] void let_writer_in(rank_t target, rank_t writer) {
      // relaxed: no other rank is active, and the writer, which is first in the queue, comes after this.
      active(target).reset_unshared(0, std::memory_order_relaxed);
      let_in(writer, target);
    }

    /// Leaves the queue and returns the next request, or 0 if there is none.
    word leave_queue(place_type at, lock_kind kind, std::string_view operation) {
      word successor = at.next.load(std::memory_order_acquire);
      if (successor != 0) [[unlikely]]
        return successor;
      word last = request_for(kind);
      // release: a rank that finds the queue empty sees this rank's accesses to the part, or that it is
      // active.
      if (at.tail.compare_exchange(last, 0, std::memory_order_release)) [[likely]]
        return 0;
      return wait_for_next(at.target, operation);
    }

    void let_go(place_type at, lock_kind kind, std::string_view operation) {
      if (kind == lock_kind::shared) {
        bool const queued = not_queued_count_ == 0 || !came_past_queue(at.target);
        stop_being_active(at, queued ? leave_queue(at, kind, operation) : 0);
        return;
      }
      if (word const successor = leave_queue(at, kind, operation); successor != 0) [[unlikely]]
        let_successor_in(at.target, successor);
    }
    [[gnu::noinline]] void let_successor_in(rank_t target, word successor) {
      if (!is_exclusive(successor)) become_active(active(target));
      let_in(rank_of(successor), target);
    }
    /// Returns whether this rank holds the part shared without a place in the queue, and clears that mark.
    [[gnu::noinline]] bool came_past_queue(rank_t target) {
      auto const index = static_cast<std::size_t>(target);
      if (!not_queued_[index]) return false;
      not_queued_[index] = false;
      --not_queued_count_;
      return true;
    }

    bool try_exclusive(rank_t target) {
      // relaxed: only the operations below decide.
      if (tail(target).load(std::memory_order_relaxed) != 0 ||
          active(target).load(std::memory_order_relaxed) != 0)
        return false;
      prepare(place(target));
      word expected = 0;
      // acq_rel: as the exchange in take.
      if (!tail(target).compare_exchange(expected, request_for(lock_kind::exclusive),
                                         std::memory_order_acq_rel))
        return false;
      if (active(target).load(std::memory_order_acquire) == 0)
        return true;  // acquire: as in nobody_is_active
      // Shared holders that had left the queue were still active. This rank leaves the queue again, as if its
      // turn had come.
      word const successor = leave_queue(place(target), lock_kind::exclusive, "try_lock");
      if (successor == 0) return false;
      rank_t const who = rank_of(successor);
      if (!is_exclusive(successor)) {
        become_active(active(target));
        let_in(who, target);
      } else if (!is_held_shared(
                     active(target).fetch_add(as_waiting_writer(who), std::memory_order_acq_rel))) {
        let_writer_in(target, who);
      }
      return false;
    }

    bool try_shared(rank_t target) {
      word seen = active(target).load(std::memory_order_relaxed);
      // Joins other holders, for which no writer waits, without the queue.
      while (is_held_shared(seen) && writer_in(seen) < 0) {
        // acquire: pairs with the release sequence in `active` of the ranks that were let in before.
        if (active(target).compare_exchange(seen, seen + one_shared, std::memory_order_acquire)) {
          not_queued_[static_cast<std::size_t>(target)] = true;
          ++not_queued_count_;
          return true;
        }
      }
      if (tail(target).load(std::memory_order_relaxed) != 0) return false;
      prepare(place(target));
      word expected = 0;
      // acq_rel: as the exchange in take.
      if (!tail(target).compare_exchange(expected, request_for(lock_kind::shared), std::memory_order_acq_rel))
        return false;
      take_shared(place(target), 0, "try_lock");
      return true;
    }

    Control* control_;
    detail::word_rows<Control> words_;
    rank_t self_ = control_->rank();
    std::vector<bool> not_queued_;  ///< parts that this rank holds shared without a place in the queue
    std::size_t not_queued_count_ = 0;
  };
};
static_assert(target_lock_protocol<mcs>);

}  // namespace PGAS_NAMESPACE::sync
