// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/word_rows.hpp>

namespace PGAS_NAMESPACE::sync {

/// The behaviour of a shared request while an exclusive holder is in its way.
enum class waiting_readers {
  stay,  ///< it stays announced: no further exclusive lock comes before it
  undo,  ///< it takes the announcement back and tries again: exclusive locks may overtake it
};

/// The behaviour of a request that was turned away, before it tries again.
enum class retries {
  after_pause,  ///< lets others go on for a random while, longer at each attempt
  at_once,      ///< tries as soon as no rank seems to be in its way
};

/// This lock protocol has two levels of counters: one word for lock_all and the exclusive locks of all parts,
/// and one word for each part.
///
/// Source: Gerstenberger, Besta and Hoefler 2014, section 2.3, where waiting readers stay; Christgau and
/// Schnor 2019, section 4.2, where they undo. The two readings differ in the requests that may starve.
///
/// Words     all, a cell of rank 0, the master: in its lower half the number of ranks that hold exclusive
///           locks or try to get one, in its upper half the number of lock_all epochs that are open or
///           requested.
///           part, a cell of each rank: in its lower half the rank that holds it exclusively, plus one; in
///           its upper half the number of ranks that hold it shared, or request that.
/// States    exclusive: counted in `all`, if that has no lock_all, then `part` from 0 to the rank. A request
///           that cannot have the lock takes its count back. A rank that holds an exclusive lock is counted
///           already, and keeps the number of its locks to itself. shared: counted in `part`. lock_all:
///           counted in `all`; it touches no part. A release subtracts, first from `part`, then from `all`,
///           since others may have counted themselves meanwhile.
/// Bound     none for exclusive locks: while shared holders come and go they never find `part` empty, and
///           they overtake each other. None for lock_all, which waits until no rank holds or tries to get any
///           exclusive lock. Shared requests wait for one exclusive holder if they stay; if they undo, they
///           have no bound either.
/// Differs   from the papers, which say that releasing an exclusive lock sets `part` to zero: that loses the
///           counts of ranks that asked meanwhile. From 2019's, where the lower bit says only that there is a
///           holder: here a waiting rank can tell which rank is in its way. A rank that cannot have the lock
///           waits by loads until the obstacle is gone, and only then pauses and tries again. The random
///           pause ends cases in which lock_all and exclusive requests turn each other away in step; the wait
///           alone does not.
/// Memory    2 cells a rank, of which the first is used on rank 0 only; one number of private state.
/// Costs     without conflict, in read-modify-writes to get and to release: shared 1 and 1; exclusive 2 and
///           2, while another one is held 1 and 1; lock_all 1 and 1.
template <waiting_readers Readers = waiting_readers::stay, retries Retries = retries::after_pause>
struct two_level {
  static constexpr std::string_view name =
      Readers == waiting_readers::stay
          ? (Retries == retries::at_once ? "two_level_at_once" : "two_level")
          : (Retries == retries::at_once ? "two_level_undo_at_once" : "two_level_undo");
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 2}; }

  template <control Control>
  class on {
    using cell_type = decltype(std::declval<Control&>().cell(0, 0));

   public:
    on(Control& control, control_words first) : control_(&control), words_(control, first) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      if (kind == lock_kind::exclusive) {
        if (in_the_way const what = attempt_exclusive(part(target)); what != in_the_way::nobody) [[unlikely]]
          take_exclusive(target, what);
      } else {
        // acquire: pairs with the release in unlock of the last exclusive holder.
        word const seen =
            detail::without_waking(part(target)).fetch_add(one_shared, std::memory_order_acquire);
        if (writer_of(seen) != 0) [[unlikely]]
          take_shared(target, seen);
      }
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (kind == lock_kind::exclusive) {
        if (attempt_exclusive(part(target)) != in_the_way::nobody) return false;
      } else if (auto const asked = detail::without_waking(part(target));
                 writer_of(asked.fetch_add(one_shared, std::memory_order_acquire)) != 0) {
        detail::add(part(target), minus(one_shared), std::memory_order_relaxed);
        return false;
      }
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind kind, Boundary& b) {
      b.publish(group(&target, 1));
      if (kind == lock_kind::shared) {
        // release: pairs with the acquire of the rank that takes the part next; carries the accesses that
        // publish has completed.
        detail::add(part(target), minus(one_shared), std::memory_order_release);
        return;
      }
      free_part(part(target));
      uncount_exclusive();
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      // acquire: pairs with the release in unlock of the last exclusive holder.
      if (exclusives_of(detail::without_waking(all()).fetch_add(one_all, std::memory_order_acquire)) != 0)
          [[unlikely]]
        take_all();
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      // release: pairs with the acquire in attempt_exclusive.
      detail::add(all(), minus(one_all), std::memory_order_release);
    }

    /// A lock_all that waits is counted already, so it excludes exclusive locks.
    static constexpr bool waits_announced = Readers == waiting_readers::stay;
    /// Returns whether this rank holds a lock that excludes lock_all.
    [[nodiscard]] bool holds_exclusively() const noexcept { return exclusive_ != 0; }

   protected:
    // The halves of an exclusive unlock, for derived locks that take them in the other order.
    void free_part(rank_t target) { free_part(part(target)); }
    void free_part(cell_type part) {
      // release: pairs with the acquire of the rank that takes the part next; carries the accesses that
      // publish has completed.
      detail::add(part, minus(me()), std::memory_order_release);
    }
    void uncount_exclusive() {
      // release: pairs with the acquire of a lock_all that waits for this.
      word const held = exclusive_;
      if (held == 1) detail::add(all(), minus(one_exclusive), std::memory_order_release);
      exclusive_ = held - 1;
    }

   private:
    static constexpr word lower_half = 0xffffffffU;
    static constexpr word one_exclusive = 1;
    static constexpr word one_all = word{1} << 32U;
    static constexpr word one_shared = word{1} << 32U;

    static constexpr word minus(word value) noexcept { return word{0} - value; }
    static constexpr word writer_of(word part) noexcept { return part & lower_half; }
    static constexpr word exclusives_of(word all) noexcept { return all & lower_half; }
    static constexpr bool has_lock_all(word all) noexcept { return all >= one_all; }

    enum class in_the_way { nobody, lock_all, holders };

    [[nodiscard]] word me() const noexcept { return me_; }
    cell_type all() { return words_.cell(0, 0); }
    cell_type part(rank_t target) { return words_.cell(target, 1); }

    // Requests wake nobody: ranks wait until others are gone, which a request never makes true. The release
    // that made a part free, or gave it to a writer, has already woken the ranks that wait for that.

    /// Tries once; a failure leaves nothing behind.
    ///
    /// A locked instruction waits for the stores before it. So the number of locks is stored before the first
    /// locked instruction of a request, and after the last one of a release.
    in_the_way attempt_exclusive(cell_type part) {
      word const held = exclusive_;
      exclusive_ = held + 1;
      // acquire: pairs with the release in unlock_all.
      if (held == 0 &&
          has_lock_all(detail::without_waking(all()).fetch_add(one_exclusive, std::memory_order_acquire))) {
        detail::add(all(), minus(one_exclusive), std::memory_order_relaxed);
        exclusive_ = held;
        return in_the_way::lock_all;
      }
      word seen = 0;
      // acquire: pairs with the releases in unlock; the releases of several shared holders are one release
      // sequence.
      if (detail::without_waking(part).compare_exchange(seen, me(), std::memory_order_acquire)) [[likely]]
        return in_the_way::nobody;
      // relaxed, as for every count that is taken back: it carries nothing, and continues the release
      // sequence.
      if (held == 0) detail::add(all(), minus(one_exclusive), std::memory_order_relaxed);
      exclusive_ = held;
      return in_the_way::holders;
    }

    // These three are not inlined, so that compilers inline the first attempt before them into epochs.

    /// Continues after a first attempt has found something in the way.
    [[gnu::noinline]] void take_exclusive(rank_t target, in_the_way what) {
      for (unsigned attempt = 0; what != in_the_way::nobody; ++attempt) {
        if (what == in_the_way::lock_all) {
          control_->wait_until(all(), [](word now) { return !has_lock_all(now); },
                               {.operation = "lock", .acquires = target, .alone = true});
        } else if (word const seen = part(target).load(std::memory_order_relaxed); writer_of(seen) != 0) {
          wait_for_writer(target, lock_kind::exclusive, seen);
        } else {
          control_->wait_until(part(target), [](word now) { return now == 0 || writer_of(now) != 0; },
                               {.operation = "lock", .acquires = target, .alone = true});
        }
        before_retry(attempt, "lock");
        what = attempt_exclusive(part(target));
      }
    }

    /// Continues after a shared request has found a writer in `seen`.
    [[gnu::noinline]] void take_shared(rank_t target, word seen) {
      for (unsigned attempt = 0; writer_of(seen) != 0; ++attempt) {
        if constexpr (Readers == waiting_readers::stay) {
          while (writer_of(seen) != 0) seen = wait_for_writer(target, lock_kind::shared, seen);
          return;
        }
        detail::add(part(target), minus(one_shared), std::memory_order_relaxed);
        wait_for_writer(target, lock_kind::shared, seen);
        before_retry(attempt, "lock");
        // acquire: as the first attempt in lock.
        seen = part(target).fetch_add(one_shared, std::memory_order_acquire);
      }
    }

    /// Continues after a request for all parts has found exclusive ones.
    [[gnu::noinline]] void take_all() {
      constexpr auto nobody_is_exclusive = [](word now) { return exclusives_of(now) == 0; };
      constexpr waiting_for why{.operation = "lock_all", .acquires = waiting_for::all_parts, .alone = true};
      for (unsigned attempt = 0;; ++attempt) {
        if constexpr (Readers == waiting_readers::stay) {
          control_->wait_until(all(), nobody_is_exclusive, why);
          return;
        }
        detail::add(all(), minus(one_all), std::memory_order_relaxed);
        control_->wait_until(all(), nobody_is_exclusive, why);
        before_retry(attempt, "lock_all");
        // acquire: as the first attempt in lock_all.
        if (nobody_is_exclusive(all().fetch_add(one_all, std::memory_order_acquire))) return;
      }
    }

    /// Waits until `part` has no writer, or another writer than `seen`. The wait names the rank it is for.
    word wait_for_writer(rank_t target, lock_kind kind, word seen) {
      auto const writer = static_cast<rank_t>(writer_of(seen) - 1);
      return control_->wait_until(part(target),
                                  [seen](word now) { return writer_of(now) != writer_of(seen); },
                                  {.operation = "lock",
                                   .awaited = group(&writer, 1),
                                   .acquires = target,
                                   .alone = kind == lock_kind::exclusive});
    }

    void before_retry(unsigned attempt, std::string_view operation) {
      if constexpr (Retries == retries::after_pause) control_->pause(attempt, {.operation = operation});
    }

    Control* control_;
    detail::word_rows<Control> words_;
    word me_ = static_cast<word>(control_->rank()) + 1;  ///< as a writer of a part
    word exclusive_ = 0;  ///< the number of exclusive locks that this rank holds
  };
};
static_assert(target_lock_protocol<two_level<>>);

}  // namespace PGAS_NAMESPACE::sync
