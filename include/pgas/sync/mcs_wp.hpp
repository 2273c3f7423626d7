// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/word_rows.hpp>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol serves exclusive requests before shared ones on each rank's part. It has a queue of the
/// former and a list of the latter, and each rank waits for a word of its own.
///
/// Source: Mellor-Crummey and Scott, Scalable reader-writer synchronization for shared-memory
/// multiprocessors, 1991, the lock with writer preference; Christgau and Schnor 2019, section 4.3, as MCS-WP.
///
/// Words     state, a cell of the target. Lowest bit: a writer is interested or active. Next bit: the door is
///           closed to readers, for a writer. Third bit: readers are in the list and not let in yet. Above:
///           the number of active readers.
///           readers, a cell of the target: the rank that joined the list last, plus one.
///           writers, a cell of the target: the end of the writers' queue, plus one.
///           first, a cell of the target: the writer that waits for the last active reader, plus one. The
///           rank that announces a writer writes it; only one writer is announced at a time.
///           woken, a cell of each rank, for the one lock that it waits for.
///           next, a cell of each rank for each target: the rank after it in the writers' queue, plus one.
/// States    A reader adds itself to the active ones if no writer is interested. Else it joins the list. The
///           first reader of a list lets it in if no writer is interested; otherwise the writer that leaves
///           last does. The last reader of the list goes first, and each reader lets the one before it in. A
///           writer joins the queue, and is announced when it is the first. Then it closes the door, and goes
///           on if no rank reads, else the last active reader wakes it. If readers were just being let in,
///           they close the door behind them. A writer that leaves wakes the next one.
/// Bound     Writers go in the order of the queue. Before an announced writer come only the active readers,
///           and those that are just being let in. Readers wait as long as writers follow each other.
/// lock_all  a shared lock on each part, in the order of ranks, when it opens. A rank that holds parts must
///           not wait behind a writer that waits for one of them. Nor must a shared holder wait for a rank
///           that still has to lock the same part shared: an exclusive request may stand between them.
/// Differs   from the papers, which have no lock_all. There a reader always joins the list, here only behind
///           a writer, so a read lock without conflict takes 1 read-modify-write instead of 4. The reader
///           that lets others in sees in the same read-modify-write whether a writer left the door to it.
///           Common transcriptions look again, and find a writer that will wake itself. try_lock is ours.
///           `first` is written only for a writer that waits.
/// Memory    5 + n cells a rank.
/// Costs     without conflict, in read-modify-writes to get and to release: shared 1 and 1, exclusive 3 and
///           2. lock_all costs n shared locks.
struct mcs_wp {
  static constexpr std::string_view name = "mcs_wp";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 0, .cells = 5 + static_cast<std::size_t>(ranks)};
  }

  template <control Control>
  class on {
    using cell_type = decltype(std::declval<Control&>().cell(0, 0));

    /// A part, its words, and this rank's word for it.
    struct place_type {
      rank_t target;
      cell_type state;
      cell_type writers;
      cell_type first;
      cell_type next;
    };

   public:
    on(Control& control, control_words first) : control_(&control), words_(control, first) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      place_type const at = place(target);
      if (kind == lock_kind::exclusive) {
        start_write(at);
      } else {
        start_read(at, "lock");
      }
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!(kind == lock_kind::exclusive ? try_write(place(target)) : try_read(state(target)))) return false;
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind kind, Boundary& b) {
      place_type const at = place(target);
      b.publish(group(&target, 1));
      if (kind == lock_kind::exclusive) {
        end_write(at);
      } else {
        end_read(at);
      }
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < control_->size(); ++target) start_read(place(target), "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < control_->size(); ++target) end_read(place(target));
    }

   protected:
    /// Joins the list. Here only a reader behind a writer does so; in the source every reader does.
    [[gnu::noinline]] void join_readers(rank_t target, std::string_view operation) {
      woken(me()).reset_unshared(0, std::memory_order_relaxed);  // the exchange publishes it
      // acq_rel: the rank that takes the list sees this rank's word; this rank sees the word of the one
      // before it.
      word const before = readers(target).exchange(me(), std::memory_order_acq_rel);
      // acq_rel: either a later change lets this rank in and has seen it join, or this rank comes after the
      // last writer and lets all in.
      if (before == 0 &&
          (state(target).fetch_add(listed, std::memory_order_acq_rel) & (writer | door_closed)) == 0)
        let_readers_in(target);
      wait_to_be_woken(target, lock_kind::shared, operation);
      if (before == 0) return;
      detail::add(state(target), one_reader,
                  std::memory_order_relaxed);  // this rank is counted: no writer is active
      wake(before);
    }

   private:
    [[nodiscard]] place_type place(rank_t target) {
      return {target, words_.cell(target, 0), words_.cell(target, 2), words_.cell(target, 3),
              next(me(), target)};
    }

    static constexpr word writer = 1;       ///< interested or active
    static constexpr word door_closed = 2;  ///< to readers, for that writer
    static constexpr word listed = 4;       ///< readers wait to be let in
    static constexpr word one_reader = 8;
    static constexpr word minus(word value) noexcept { return word{0} - value; }

    [[nodiscard]] word me() const noexcept { return me_; }
    cell_type state(rank_t target) { return words_.cell(target, 0); }
    cell_type readers(rank_t target) { return words_.cell(target, 1); }
    cell_type writers(rank_t target) { return words_.cell(target, 2); }
    cell_type first(rank_t target) { return words_.cell(target, 3); }
    cell_type woken(word rank_plus_one) { return words_.cell(static_cast<rank_t>(rank_plus_one - 1), 4); }
    cell_type next(word rank_plus_one, rank_t target) {
      return words_.cell(static_cast<rank_t>(rank_plus_one - 1), 5 + static_cast<std::size_t>(target));
    }

    void wake(word who) {
      // release: pairs with the acquire load of the rank that waits; one rank wakes it, once.
      woken(who).reset_unshared(1, std::memory_order_release);
    }
    [[gnu::noinline]] void wait_to_be_woken(rank_t target, lock_kind kind, std::string_view operation) {
      // No word says which rank wakes this one: the last reader, or a writer in between.
      control_->wait_until(
          woken(me()), [](word now) { return now != 0; },
          {.operation = operation, .acquires = target, .alone = kind == lock_kind::exclusive});
    }

    // Readers.

    [[nodiscard]] bool try_read(cell_type state) {
      word seen = state.load(std::memory_order_relaxed);
      while ((seen & (writer | door_closed)) == 0) {
        // acquire: pairs with the release in end_write; other changes since then are one release sequence.
        if (state.compare_exchange(seen, seen + one_reader, std::memory_order_acquire)) [[likely]]
          return true;
      }
      return false;
    }

    void start_read(place_type at, std::string_view operation) {
      if (!try_read(at.state)) [[unlikely]]
        join_readers(at.target, operation);
    }

    /// Lets the list in: counts the reader that goes first; each reader counts the next.
    [[gnu::noinline]] void let_readers_in(rank_t target) {
      // acq_rel: hands the last writer's accesses to the readers, which are woken after it.
      word const seen = state(target).fetch_add(one_reader - listed, std::memory_order_acq_rel);
      // A writer that saw `listed` left the door to this rank. The value of that very change decides, since a
      // later writer closes the door itself.
      if ((seen & writer) != 0 && (seen & door_closed) == 0)
        state(target).fetch_add(door_closed, std::memory_order_acq_rel);
      wake(readers(target).exchange(0, std::memory_order_acq_rel));  // a later reader starts another list
    }

    void end_read(place_type at) {
      // acq_rel: the changes of all readers are one release sequence, which the last one hands to the writer.
      word const seen = at.state.fetch_add(minus(one_reader), std::memory_order_acq_rel);
      if ((seen & ~listed) == one_reader + writer + door_closed) [[unlikely]]
        wake_writer(at.target);
    }
    [[gnu::noinline]] void wake_writer(rank_t target) {
      // relaxed: written before `writer`, which the reader has seen.
      wake(first(target).load(std::memory_order_relaxed));
    }

    // Writers.

    void start_write(place_type at) {
      prepare_to_write(at);
      // acq_rel: a successor sees this rank's words; this rank sees its predecessor's.
      word const before = at.writers.exchange(me(), std::memory_order_acq_rel);
      if (before == 0) [[likely]] {
        if (announce(at, me())) [[likely]]
          return;
      } else {
        // release: pairs with the acquire load of `next` by the predecessor.
        next(before, at.target).reset_unshared(me(), std::memory_order_release);
      }
      wait_to_be_woken(at.target, lock_kind::exclusive, "lock");
    }

    void prepare_to_write(place_type at) {
      // relaxed: the exchange or compare_exchange that puts this rank into the queue publishes both.
      at.next.reset_unshared(0, std::memory_order_relaxed);
      woken(me()).reset_unshared(0, std::memory_order_relaxed);
    }

    /// Announces a writer, the first in the queue. Returns whether it may go on at once; if not, the last
    /// active reader wakes it.
    bool announce(place_type at, word who) {
      // relaxed: the next change of the state publishes it.
      at.first.reset_unshared(who, std::memory_order_relaxed);
      // acq_rel, twice: publishes `first` to the last reader; comes after all readers that have ended.
      if ((at.state.fetch_add(writer, std::memory_order_acq_rel) & listed) != 0) return false;
      return at.state.fetch_add(door_closed, std::memory_order_acq_rel) < one_reader;
    }

    void end_write(place_type at) {
      // acquire: pairs with the release in start_write of the successor.
      if (word const successor = at.next.load(std::memory_order_acquire); successor != 0) [[unlikely]] {
        wake(successor);  // the state stays: readers keep waiting
        return;
      }
      // acq_rel: pairs with the acquire of the rank that gets in next; carries the accesses that publish has
      // completed.
      word const seen = at.state.fetch_add(minus(writer + door_closed), std::memory_order_acq_rel);
      if ((seen & listed) != 0) [[unlikely]]
        let_readers_in(at.target);
      leave_queue(at, "unlock");
    }

    void leave_queue(place_type at, std::string_view operation) {
      word last = me();
      // release: a rank that finds the queue empty comes after this one.
      if (!at.writers.compare_exchange(last, 0, std::memory_order_release)) [[unlikely]]
        announce_next(at.target, operation);
    }
    [[gnu::noinline]] void announce_next(rank_t target, std::string_view operation) {
      word const successor = control_->wait_until(next(me(), target), [](word now) { return now != 0; },
                                                  {.operation = operation});
      if (announce(place(target), successor)) wake(successor);
    }

    [[nodiscard]] bool try_write(place_type at) {
      // relaxed: only the operations below decide.
      if (at.state.load(std::memory_order_relaxed) != 0 || at.writers.load(std::memory_order_relaxed) != 0)
        return false;
      prepare_to_write(at);
      word expected = 0;
      // release: a successor sees this rank's words; the state carries the accesses to the part.
      if (!at.writers.compare_exchange(expected, me(), std::memory_order_release)) return false;
      expected = 0;
      // acquire: pairs with the releases of all ranks that have ended, one release sequence.
      if (at.state.compare_exchange(expected, writer + door_closed, std::memory_order_acquire)) return true;
      leave_queue(at, "try_lock");
      return false;
    }

    Control* control_;
    detail::word_rows<Control> words_;
    word me_ = static_cast<word>(control_->rank()) + 1;  ///< this rank plus one
  };
};
static_assert(target_lock_protocol<mcs_wp>);

}  // namespace PGAS_NAMESPACE::sync
