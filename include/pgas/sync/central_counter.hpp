// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/wait_policy.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The words of such a control are in shared memory, its job has a wait policy, and nobody records, checks or
/// needs its waits.
template <class C>
concept control_in_turns = control_of_cores<C> && !recording_control<C> && !comparing_control<C> &&
                           !mailing_control<C> && requires(C const& c) {
                             { c.owner().waits() } noexcept -> std::same_as<wait_policy>;
                           };

/// Waits for a sum of arrivals, which is `all` or more when every rank has come. Each of them adds `One`.
///
/// Where up to four ranks share a core, a rank keeps its core while so few ranks are missing that all of them
/// may run on other cores now. The last one on a core thus saves a switch, which takes as long as a thousand
/// looks. It ends after some turns, since only wait_until notices a deadline and a failed job.
template <word One, control Control, class Word>
void wait_for_arrivals(Control& c, Word const& sum, word all, waiting_for const& why) {
  if constexpr (control_in_turns<Control>) {
    constexpr int turns = 32;
    constexpr int looks_of_turn = 8;
    constexpr int looks_of_last = 2000;  // about the time of a turn
    constexpr word most_on_core = 4;
    auto const at_once = static_cast<word>(c.most_at_once());
    auto const ranks = static_cast<word>(c.size());
    wait_policy const how = c.owner().waits();
    bool const yields = how == wait_policy::adaptive || how == wait_policy::yield;
    bool const helps = yields && at_once < ranks && ranks <= most_on_core * at_once && !service::any();
    for (int turn = 0; helps && turn < turns; ++turn) {
      word missing = One * at_once;
      for (int i = 0; i < looks_of_turn || (i < looks_of_last && missing < One * at_once); ++i) {
        // acquire: pairs with the release of each rank that arrives, as in wait_until.
        word const seen = sum.load(std::memory_order_acquire);
        if (seen >= all) return;
        missing = all - seen;
      }
      give_up_core();
      will_change(sum);
    }
  }
  c.wait_until(
      sum, [all](word seen) { return seen >= all; }, why);
}

/// Counts arrivals in one sum, to which each fence below adds in its own way.
///
/// Source: the centralized barrier, Mellor-Crummey and Scott 1991, figure 7.
///
/// Words     one cell, rank 0's: the number of arrivals of all ranks since the window was made, times `One`.
/// States    Before fence k (from 1) is over, the number lies in [(k - 1) n, k n). It only grows. A rank may
///           arrive at fence k + 1 while others have not yet seen the end of fence k, hence >= below. `add`
///           may use the bits below `One`, which end no wait.
/// Differs   from the paper's, which counts down and flips a sense: a sum that grows needs no reset.
/// Memory    one cell a rank; a list of ranks in private memory.
template <control Control, word One = 1>
class arrival_counter {
 public:
  arrival_counter(Control& control, std::size_t first_cell)
      : control_(&control), sum_(control.cell(0, first_cell)), all_(One * static_cast<word>(control.size())) {
    for (rank_t rank = 0; rank < control.size(); ++rank) {
      if (rank != control.rank()) others_.push_back(rank);
    }
  }

  /// add(sum) adds `One` to the cell and returns the new sum. It is a release, which pairs with the acquire
  /// of each rank that waits for the sum. It is also an acquire, for the rank that arrives last and does not
  /// wait.
  template <boundary Boundary, class Add>
  [[gnu::always_inline]] void fence(Boundary& b, std::string_view operation, Add&& add) {
    b.publish(everyone);
    last_ += all_;
    if (add(sum_) < last_ + One) wait_for_all(operation);
    b.refresh(everyone);
  }

  /// The same fence by one read-modify-write.
  template <boundary Boundary>
    requires(One == 1)
  [[gnu::always_inline]] void fence_by_one_change(Boundary& b, std::string_view operation) {
    // acq_rel: a release, which pairs with the acquire of each rank that sees this arrival, here or in
    // wait_until (later arrivals continue its release sequence); an acquire for the rank that arrives
    // last and does not wait.
    constexpr auto order = std::memory_order_acq_rel;
    if constexpr (waking_cell<cell_type>) {
      b.publish(everyone);
      last_ += all_;
      cell_type const sum = sum_;  // the address is not read again after the change
      word const before = sum.without_waking().fetch_add(1, order);
      if (sum.is_slept_on()) [[unlikely]] {
        wake_and_wait(before, operation);
      } else if (before < last_) {
        wait_for_all(operation);
      }
      b.refresh(everyone);
    } else {
      fence(b, operation, [](auto const& sum) { return sum.fetch_add(1, order) + 1; });
    }
  }

  /// The reason of a wait in such a fence, which is for all other ranks.
  [[nodiscard]] waiting_for why(std::string_view operation) const {
    return {.operation = operation, .awaited = others_};
  }

 private:
  using cell_type = decltype(std::declval<Control&>().cell(0, 0));

  // Not inlined, so that the rank that arrives last saves no registers.

  [[gnu::noinline]] void wake_and_wait(word before, std::string_view operation) {
    sum_.wake_sleepers();
    if (before < last_) wait_for_all(operation);
  }
  [[gnu::noinline]] void wait_for_all(std::string_view operation) {
    wait_for_arrivals<One>(*control_, sum_, last_ + One, why(operation));
  }

  Control* control_;
  cell_type sum_;
  word all_;                   ///< that all ranks add at one fence
  word last_ = word{0} - One;  ///< the sum before the last arrival at the fences so far, which ends them
  plain_list<rank_t> others_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::sync {

/// This fence is a counter to which every rank adds one.
///
/// Source: the centralized barrier, Mellor-Crummey and Scott 1991, figure 7. For few ranks, and for ranks
/// that share cores. The rank that arrives last releases all others at once, so a rank needs its core once a
/// fence. Dissemination needs it in each of its rounds, each time after another rank has had it.
///
/// Words, states, memory and differences are those of detail::arrival_counter.
/// Costs     one read-modify-write by each rank, all on one word. Where up to four ranks share a core, one
///           switch less than ranks: see detail::wait_for_arrivals.
struct central_counter {
  static constexpr std::string_view name = "central_counter";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 1}; }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : arrivals_(control, first.cells) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      arrivals_.fence_by_one_change(b, operation);
    }

   private:
    detail::arrival_counter<Control> arrivals_;
  };
};
static_assert(fence_protocol<central_counter>);

/// This fence is a counter behind a test-and-set lock, for which ranks pause longer and longer.
///
/// Source: the barriers of the SCC that had only a test-and-set register (Christgau 2017, section 3.4.2).
/// Without the back-off they were of no use for more than 32 cores. To compare with.
///
/// Words     one cell, rank 0's. Bit 0 is the guard, 1 while a rank changes the counter. The other bits are
///           the counter: see detail::arrival_counter.
/// States    The guard goes from 0 to 1 by the rank that takes it. The same rank adds to the counter and sets
///           the guard to 0 by one store. Until then only its store changes the word: another rank's
///           compare_exchange expects a guard of 0, so it fails.
/// Differs   from central_counter: a rank that finds the guard taken pauses for a random while, longer at
///           each attempt, and tries again. There the memory system, or the backend, decides which rank is
///           next. From the barriers of the source: guard and counter are one word, so one line goes from
///           rank to rank. A rank that waits for the others looks at the sum without the lock.
/// Memory    1 cell a rank, of which rank 0's is used; a list of ranks in private memory.
/// Costs     a load, a read-modify-write and a store by each rank, and a pause for each time it is turned
///           away.
struct guarded_counter {
  static constexpr std::string_view name = "guarded_counter";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 1}; }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), arrivals_(control, first.cells) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      arrivals_.fence(b, operation, [&](auto const& sum) {
        detail::will_change(sum);  // the load below waits for the same line
        for (unsigned attempt = 0;; ++attempt) {
          // relaxed: the compare_exchange looks again.
          word seen = sum.load(std::memory_order_relaxed);
          while ((seen & guard) == 0) {
            // acquire: pairs with the release below of the rank that had the guard before, so that the last
            // rank has the accesses of all. It continues the release sequence of that store.
            if (!detail::without_waking(sum).compare_exchange(seen, seen | guard, std::memory_order_acquire))
              continue;  // another rank has added meanwhile
            word const now = seen + one_rank;
            // release: pairs with the acquire above, and with that of each rank that waits for the sum.
            sum.reset_unshared(now, std::memory_order_release);
            return now;
          }
          control_->pause(attempt, arrivals_.why(operation));
        }
      });
    }

   private:
    static constexpr word guard = 1;
    static constexpr word one_rank = 2;

    Control* control_;
    detail::arrival_counter<Control, one_rank> arrivals_;
  };
};
static_assert(fence_protocol<guarded_counter>);

}  // namespace PGAS_NAMESPACE::sync
