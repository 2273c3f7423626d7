// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/word_rows.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol has one word for each rank's part, which a rank takes while no rank waits, and a few
/// times past waiting ranks. Other ranks wait in a queue, first come, first served.
///
/// Source: ours, after the queue of Mellor-Crummey and Scott 1991 (local spinning) and the counters of
/// Gerstenberger 2014, section 2.3 (readers and a writer in one word).
///
/// Words     held, a cell of the target. 0: free; 2 n: n shared holders; 2 r + 1: rank r holds it alone. Only
///           r changes the last value, so r releases by a store. Other ranks' attempts are compare_exchanges,
///           which fail.
///           tail, a cell of the target: the last rank in the queue plus one; 0: no rank waits.
///           next, a cell of each rank, for the one queue it waits in: the rank after it, plus one.
///           first, a cell of each rank: 1 once it is the first of that queue.
/// States    A rank that finds the queue empty takes the word if it is free for it. A rank that finds others
///           waiting may take the word past them, most_passes times at most before it joins the queue. This
///           pays, since a rank that releases the word and comes back still has the line in its cache. A
///           hand-over takes as long as many of its turns; if ranks share a core it takes a change of turns.
///           Otherwise the rank joins the queue and looks at a word of its own until it is the first. Only
///           the first looks at `held`, and takes the word when it is free for it. Then it lets the next rank
///           be first, so shared holders follow each other at once.
///           A first rank that has itself gone past the queue pauses once before it looks at `held`. Ranks of
///           one program do the same, so the holder likely comes back. Each look takes the line from it, and
///           ends its turn after two or three locks instead of most_passes + 1. If ranks share cores, none
///           pauses: the pause gives up the core, and lasts as long as many turns.
/// Bound     Each other rank overtakes a rank in the queue most_passes + 1 times at most: once of these
///           because it had seen the queue empty before. lock_all overtakes without a bound.
/// lock_all  a shared lock on each part, taken at the first access to it; on the own part at once. It needs
///           no central word, and at most n locks. It waits for exclusive holders only, and in no queue: a
///           rank that holds parts must not wait behind a rank that waits for one of them. So an exclusive
///           lock may wait as long as lock_all epochs on its part overlap, and lock_all may lose the word to
///           one exclusive lock after another.
/// Differs   from the paper's two-level counters: no central word. Without waiting a lock takes one read and
///           one compare_exchange, and a store to release. Ranks in the queue send nothing, nothing is
///           undone, and single locks do not starve each other. From the reader-writer queue lock with writer
///           preference: without waiting 1 and 1 read-modify-writes instead of 3 and 2. It has lock_all, and
///           readers do not starve.
/// Memory    4 cells a rank, 2 n bytes of private state.
/// Costs     without conflict a lock takes 1 load and 1 read-modify-write. A release takes 1 store, or 1
///           read-modify-write if shared. lock_all costs a lock for each part that is accessed.
struct queued {
  static constexpr std::string_view name = "queued";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 4}; }

  /// The number of times that a rank may go past a part's queue before it must join it. Higher numbers were
  /// no quicker between two cores.
  static constexpr std::uint8_t most_passes = 8;

  /// The attempt after which the first rank pauses: 1 to 8 looks, about as long as most_passes + 1 short
  /// locks. With 2 and with 4 a lock that two cores want took longer.
  static constexpr unsigned pause_of_first = 3;

  template <control Control>
  class on {
    using cell_type = decltype(std::declval<Control&>().cell(0, 0));

   public:
    on(Control& control, control_words first)
        : control_(&control),
          words_(control, first),
          exclusively_(2 * static_cast<word>(control.rank()) + 1),
          has_core_(has_core(control)),
          parts_(static_cast<std::size_t>(control.size())) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!take_now(target, kind)) [[unlikely]]
        take_in_turn(target, kind, "lock");
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!take_now(target, kind)) return false;
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind kind, Boundary& b) {
      b.publish(group(&target, 1));
      let_go(held(target), kind);
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      trigger(self(), b);
    }
    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b) {
      if (parts_[index(target)].in_all) return;
      if (!take_word(held(target), lock_kind::shared)) [[unlikely]]
        take_in_all(target);
      parts_[index(target)].in_all = true;
      b.refresh(group(&target, 1));
    }
    /// Returns whether this rank's lock_all has a lock on a part.
    [[nodiscard]] bool has_in_all(rank_t target) const noexcept { return parts_[index(target)].in_all; }
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      // Copies, which stay in registers. A member is loaded again after each release, as all memory is.
      auto const words = words_;
      part* const parts = parts_.begin();
      rank_t const ranks = control_->size();
      for (rank_t target = 0; target < ranks; ++target) {
        if (!std::exchange(parts[index(target)].in_all, false)) continue;
        let_go(words.cell(target, 0), lock_kind::shared);
      }
    }

   private:
    static constexpr word one_shared = 2;
    static constexpr bool is_exclusive(word held) noexcept { return (held & 1U) != 0; }
    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }

    /// Returns whether each rank is known to have a core of its own.
    static bool has_core(Control const& control) noexcept {
      if constexpr (control_of_cores<Control>) {
        return control.most_at_once() == control.size();
      } else {
        return false;
      }
    }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    [[nodiscard]] word me() const noexcept { return static_cast<word>(self()) + 1; }
    cell_type held(rank_t target) { return words_.cell(target, 0); }
    cell_type tail(rank_t target) { return words_.cell(target, 1); }
    cell_type next_of(word rank_plus_one) { return words_.cell(static_cast<rank_t>(rank_plus_one - 1), 2); }
    cell_type first_in_queue(word rank_plus_one) {
      return words_.cell(static_cast<rank_t>(rank_plus_one - 1), 3);
    }

    [[nodiscard]] bool take_now(rank_t target, lock_kind kind) {
      // relaxed: a rank that overlooks a waiting one overtakes it, which is right.
      if (tail(target).load(std::memory_order_relaxed) == 0) [[likely]]
        return take_word(held(target), kind);
      return go_past(target, kind);
    }

    /// Not inlined, so that a compiler inlines the rest of take_now, which suffices while no rank waits.
    [[nodiscard, gnu::noinline]] bool go_past(rank_t target, lock_kind kind) {
      auto& passed = parts_[index(target)].passed;
      // relaxed: as above.
      if (passed == most_passes || held(target).load(std::memory_order_relaxed) != 0) return false;
      ++passed;
      return take_word(held(target), kind);
    }

    /// Takes the word if it is free for such a lock. Takes it quietly: a rank that waits for it waits until a
    /// holder is gone, so its wait has ended, and it has been woken, before another rank takes the word.
    [[nodiscard]] bool take_word(cell_type held, lock_kind kind) {
      word seen = 0;
      if (kind == lock_kind::exclusive) {
        // acquire: pairs with the release in let_go of the rank that had it before; the releases of several
        // shared holders are one release sequence.
        return detail::without_waking(held).compare_exchange(seen, exclusively_, std::memory_order_acquire);
      }
      // acquire: pairs with the release in let_go of the last exclusive holder.
      if constexpr (changing_cell<cell_type>) {
        auto const joined = [](word now) { return is_exclusive(now) ? now : now + one_shared; };
        return !is_exclusive(held.update(joined, std::memory_order_acquire));
      } else {
        do {
          if (detail::without_waking(held).compare_exchange(seen, seen + one_shared,
                                                            std::memory_order_acquire)) [[likely]]
            return true;
        } while (!is_exclusive(seen));
        return false;
      }
    }

    [[gnu::noinline]] void take_in_all(rank_t target) {
      do {
        wait_for_word(target, lock_kind::shared, "lock_all");
      } while (!take_word(held(target), lock_kind::shared));
    }

    /// Waits until the word may be free. If one rank holds it alone, waits for that rank and names it.
    void wait_for_word(rank_t target, lock_kind kind, std::string_view operation) {
      word const seen = held(target).load(std::memory_order_relaxed);
      if (is_exclusive(seen)) {
        auto const holder = static_cast<rank_t>(seen / 2);
        control_->wait_until(held(target), [seen](word now) { return now != seen; },
                             {.operation = operation,
                              .awaited = group(&holder, 1),
                              .acquires = target,
                              .alone = kind == lock_kind::exclusive});
      } else if (kind == lock_kind::exclusive && seen != 0) {
        control_->wait_until(held(target), [](word now) { return now == 0 || is_exclusive(now); },
                             {.operation = operation, .acquires = target, .alone = true});
      }
    }

    [[gnu::noinline]] void take_in_turn(rank_t target, lock_kind kind, std::string_view operation) {
      // relaxed: the exchange below publishes both.
      next_of(me()).reset_unshared(0, std::memory_order_relaxed);
      first_in_queue(me()).reset_unshared(0, std::memory_order_relaxed);
      // acq_rel: a successor that sees this rank sees its two words; this rank sees those of its predecessor.
      if (word const before = tail(target).exchange(me(), std::memory_order_acq_rel); before != 0) {
        // release: pairs with the acquire load of `next` by the predecessor.
        next_of(before).exchange(me(), std::memory_order_release);
        auto const awaited = static_cast<rank_t>(before - 1);
        control_->wait_until(first_in_queue(me()), [](word is_first) { return is_first != 0; },
                             {.operation = operation,
                              .awaited = group(&awaited, 1),
                              .acquires = target,
                              .alone = kind == lock_kind::exclusive});
      }
      bool const comes_back = std::exchange(parts_[index(target)].passed, std::uint8_t{0}) != 0;
      if (comes_back && has_core_) control_->pause(pause_of_first, {.operation = operation});
      do {
        wait_for_word(target, kind, operation);
      } while (!take_word(held(target), kind));

      word last = me();
      // relaxed: an empty queue carries nothing; accesses to the part go with `held`.
      if (tail(target).compare_exchange(last, 0, std::memory_order_relaxed)) return;
      word const next = control_->wait_until(next_of(me()), [](word successor) { return successor != 0; },
                                             {.operation = operation});
      // relaxed: the successor looks at `held` next, with acquire.
      first_in_queue(next).exchange(1, std::memory_order_relaxed);
    }

    void let_go(cell_type held, lock_kind kind) {
      // release: pairs with the acquire in take_word of the rank that takes it next; carries the accesses
      // that publish has completed.
      if (kind == lock_kind::exclusive) {
        held.reset_unshared(0, std::memory_order_release);
      } else {
        detail::add(held, word{0} - one_shared, std::memory_order_release);
      }
    }
    Control* control_;
    detail::word_rows<Control> words_;
    word exclusively_;  ///< `held`, while this rank holds the part alone
    bool has_core_;     ///< each rank has a core of its own
    struct part {
      bool in_all = false;      ///< this rank's lock_all has a lock on it
      std::uint8_t passed = 0;  ///< the number of times it passed the queue since it was last in it
    };
    detail::plain_list<part> parts_;
  };
};
static_assert(lock_protocol<queued> && target_lock_protocol<queued>);

}  // namespace PGAS_NAMESPACE::sync
