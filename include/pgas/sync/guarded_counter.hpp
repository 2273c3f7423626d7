// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/sync/policy.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by a counter behind a test-and-set lock, for which ranks wait longer and longer.
///
/// Source: the barriers of the SCC that had nothing but a test-and-set register, as Christgau 2017, section 3.4.2,
/// tells of them: without the back-off they were no use for more than 32 cores. To compare with.
///
/// Words     of rank 0: guard, a cell, 1 while a rank changes the counter; arrived, a cell: how many times any rank has
///           arrived since the window was made.
/// States    guard from 0 to 1 and back, by whoever has taken it. Before fence k (from 1) is over arrived lies in
///           [(k - 1) n, k n); it only grows.
/// Differs   from central_counter: whoever is turned away pauses for a random while, longer at each attempt, and tries
///           again, where there the memory system, or the backend, decides who is next. From the barriers of the
///           source: a sum that grows needs no reset, and whoever waits for the others looks at it without the lock.
/// Memory    2 cells a rank, of which rank 0's are used; a list of ranks in private memory.
struct guarded_counter {
  static constexpr std::string_view name = "guarded_counter";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 2}; }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), first_(first.cells) {
      for (rank_t rank = 0; rank < control.size(); ++rank) {
        if (rank != control.rank()) others_.push_back(rank);
      }
    }

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      waiting_for const why{.operation = operation, .awaited = others_};
      b.publish(everyone);
      all_ += static_cast<word>(control_->size());
      auto const guard = control_->cell(0, first_);
      auto const arrived = control_->cell(0, first_ + 1);
      for (unsigned attempt = 0;; ++attempt) {
        word is_free = 0;
        // acquire: pairs with the release below of whoever had it before, so that the last one has all that they did.
        if (guard.compare_exchange(is_free, 1, std::memory_order_acquire)) break;
        control_->pause(attempt, why);
      }
      word const now = arrived.load(std::memory_order_relaxed) + 1;
      // release: pairs with the acquire of whoever waits for it.
      arrived.reset_unshared(now, std::memory_order_release);
      guard.reset_unshared(0, std::memory_order_release);  // pairs with the acquire above
      if (now < all_)
        control_->wait_until(
            arrived, [all = all_](word seen) { return seen >= all; }, why);
      b.refresh(everyone);
    }

   private:
    Control* control_;
    std::size_t first_;
    word all_ = 0;  ///< what the sum will be when every fence so far is over
    std::vector<rank_t> others_;
  };
};
static_assert(fence_protocol<guarded_counter>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
