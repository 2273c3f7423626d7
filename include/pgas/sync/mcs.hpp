// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::sync {

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
   public:
    on(Control& control, control_words first)
        : control_(&control), first_(first.cells), not_queued_(static_cast<std::size_t>(control.size())) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      take(target, kind, "lock");
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
      b.publish(group(&target, 1));
      let_go(target, kind, "unlock");
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < control_->size(); ++target)
        take(target, lock_kind::shared, "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < control_->size(); ++target)
        let_go(target, lock_kind::shared, "unlock_all");
    }

   private:
    // A request, as in tail and next.
    static constexpr bool is_exclusive(word request) noexcept { return (request & 1U) != 0; }
    static constexpr rank_t rank_of(word request) noexcept { return static_cast<rank_t>(request / 2 - 1); }
    [[nodiscard]] word request_for(lock_kind kind) const noexcept {
      return 2 * (static_cast<word>(self()) + 1) + (kind == lock_kind::exclusive ? 1 : 0);
    }

    // active.
    static constexpr word one_shared = word{1} << 32U;
    static constexpr bool is_held_shared(word active) noexcept { return active >= one_shared; }
    static constexpr rank_t writer_in(word active) noexcept {
      return static_cast<rank_t>(active % one_shared) - 1;
    }
    static constexpr word as_waiting_writer(rank_t rank) noexcept { return static_cast<word>(rank) + 1; }

    // state.
    static constexpr word may_go_on = 1;
    static constexpr word lets_in_next = 2;

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    auto tail(rank_t target) { return control_->cell(target, first_); }
    auto active(rank_t target) { return control_->cell(target, first_ + 1); }
    auto next(rank_t of, rank_t target) {
      return control_->cell(of, first_ + 2 + 2 * static_cast<std::size_t>(target));
    }
    auto state(rank_t of, rank_t target) {
      return control_->cell(of, first_ + 3 + 2 * static_cast<std::size_t>(target));
    }

    void prepare(rank_t target) {
      // relaxed: the exchange or compare_exchange that puts this rank at the tail publishes both.
      next(self(), target).reset_unshared(0, std::memory_order_relaxed);
      state(self(), target).reset_unshared(0, std::memory_order_relaxed);
    }
    void let_in(rank_t who, rank_t target) {
      // release: pairs with the acquire load of its wait, and with the acquire of a shared request behind it
      // that finds that it has gone on.
      detail::add(state(who, target), may_go_on, std::memory_order_release);
    }
    word go_on(rank_t target) {
      // release: pairs with the acquire of a shared request behind this one that finds that it has gone on.
      return state(self(), target).fetch_add(may_go_on, std::memory_order_release);
    }
    word wait_to_be_let_in(rank_t target, std::string_view operation, group by) {
      return control_->wait_until(state(self(), target), [](word now) { return (now & may_go_on) != 0; },
                                  {.operation = operation, .awaited = by});
    }
    word wait_for_next(rank_t target, std::string_view operation) {
      return control_->wait_until(next(self(), target), [](word now) { return now != 0; },
                                  {.operation = operation});
    }

    void take(rank_t target, lock_kind kind, std::string_view operation) {
      prepare(target);
      // acq_rel: a successor sees this rank's two words, and this rank sees its predecessor's. A rank that
      // finds 0 has seen the changes to `active` by every rank that was in the queue before it.
      word const before = tail(target).exchange(request_for(kind), std::memory_order_acq_rel);
      if (kind == lock_kind::exclusive) {
        take_exclusive(target, before, operation);
      } else {
        take_shared(target, before, operation);
      }
    }

    void take_exclusive(rank_t target, word before, std::string_view operation) {
      if (before == 0) {
        if (!nobody_is_active(target)) wait_to_be_let_in(target, operation, {});
        return;
      }
      rank_t const by = rank_of(before);
      next(by, target)
          .reset_unshared(request_for(lock_kind::exclusive), std::memory_order_release);  // as for shared
      // Behind a shared request the last active rank lets this one in; no word tells yet which rank that will
      // be.
      wait_to_be_let_in(target, operation, is_exclusive(before) ? group(&by, 1) : group{});
    }

    /// Returns whether the first of the queue, with an exclusive request, may go on. If not, the last active
    /// rank lets it in.
    bool nobody_is_active(rank_t target) {
      // acquire: pairs with the release in stop_being_active. A value of 0 means that all ranks before it
      // have stopped.
      if (active(target).load(std::memory_order_acquire) == 0) return true;
      if (is_held_shared(active(target).fetch_add(as_waiting_writer(self()), std::memory_order_acq_rel)))
        return false;
      active(target).reset_unshared(0, std::memory_order_relaxed);  // later ranks are behind this one
      return true;
    }

    void take_shared(rank_t target, word before, std::string_view operation) {
      word mine = 0;
      if (before == 0) {
        become_active(target);
        mine = go_on(target);
      } else {
        rank_t const by = rank_of(before);
        word waits = 0;
        // acquire: pairs with the release in let_in or go_on, if `by` has gone on.
        if (is_exclusive(before) ||
            state(by, target).compare_exchange(waits, lets_in_next, std::memory_order_acquire)) {
          // release: pairs with the acquire load of `next` by the predecessor.
          next(by, target).reset_unshared(request_for(lock_kind::shared), std::memory_order_release);
          mine = wait_to_be_let_in(target, operation, group(&by, 1));
        } else {
          become_active(target);  // `by` is active and cannot leave before it knows its successor
          next(by, target).reset_unshared(request_for(lock_kind::shared), std::memory_order_release);
          mine = go_on(target);
        }
      }
      if ((mine & lets_in_next) == 0) return;
      rank_t const follower = rank_of(wait_for_next(target, operation));
      become_active(target);
      let_in(follower, target);
    }

    /// Counts this rank, or the rank that is let in next.
    void become_active(rank_t target) {
      // release: pairs with the acquire in try_shared, which lets in a rank that has been in no queue.
      detail::add(active(target), one_shared, std::memory_order_release);
    }

    void stop_being_active(rank_t target, word successor) {
      bool const announces = successor != 0 && is_exclusive(successor);
      word const change = (announces ? as_waiting_writer(rank_of(successor)) : 0) - one_shared;
      // acq_rel: the last holder has seen the accesses of all before it, and hands them to the writer.
      word const left = active(target).fetch_add(change, std::memory_order_acq_rel) + change;
      if (!is_held_shared(left) && left != 0) let_writer_in(target, writer_in(left));
    }
    void let_writer_in(rank_t target, rank_t writer) {
      // relaxed: no other rank is active, and the writer, which is first in the queue, comes after this.
      active(target).reset_unshared(0, std::memory_order_relaxed);
      let_in(writer, target);
    }

    /// Leaves the queue and returns the next request, or 0 if there is none.
    word leave_queue(rank_t target, lock_kind kind, std::string_view operation) {
      word successor = next(self(), target).load(std::memory_order_acquire);
      if (successor != 0) return successor;
      word last = request_for(kind);
      // release: a rank that finds the queue empty sees this rank's accesses to the part, or that it is
      // active.
      if (tail(target).compare_exchange(last, 0, std::memory_order_release)) return 0;
      return wait_for_next(target, operation);
    }

    void let_go(rank_t target, lock_kind kind, std::string_view operation) {
      if (kind == lock_kind::shared) {
        bool const queued = !not_queued_[static_cast<std::size_t>(target)];
        not_queued_[static_cast<std::size_t>(target)] = false;
        stop_being_active(target, queued ? leave_queue(target, kind, operation) : 0);
        return;
      }
      word const successor = leave_queue(target, kind, operation);
      if (successor == 0) return;
      if (!is_exclusive(successor)) become_active(target);
      let_in(rank_of(successor), target);
    }

    bool try_exclusive(rank_t target) {
      // relaxed: only the operations below decide.
      if (tail(target).load(std::memory_order_relaxed) != 0 ||
          active(target).load(std::memory_order_relaxed) != 0)
        return false;
      prepare(target);
      word expected = 0;
      // acq_rel: as the exchange in take.
      if (!tail(target).compare_exchange(expected, request_for(lock_kind::exclusive),
                                         std::memory_order_acq_rel))
        return false;
      if (active(target).load(std::memory_order_acquire) == 0)
        return true;  // acquire: as in nobody_is_active
      // Shared holders that had left the queue were active. This rank leaves again, as if it had been its
      // turn.
      word const successor = leave_queue(target, lock_kind::exclusive, "try_lock");
      if (successor == 0) return false;
      rank_t const who = rank_of(successor);
      if (!is_exclusive(successor)) {
        become_active(target);
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
          return true;
        }
      }
      if (tail(target).load(std::memory_order_relaxed) != 0) return false;
      prepare(target);
      word expected = 0;
      // acq_rel: as the exchange in take.
      if (!tail(target).compare_exchange(expected, request_for(lock_kind::shared), std::memory_order_acq_rel))
        return false;
      take_shared(target, 0, "try_lock");
      return true;
    }

    Control* control_;
    std::size_t first_;
    std::vector<bool> not_queued_;  ///< parts that this rank holds shared without a place in the queue
  };
};
static_assert(target_lock_protocol<mcs>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
