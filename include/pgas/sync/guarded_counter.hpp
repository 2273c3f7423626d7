// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/platform/words/arrival_counter.hpp>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by a counter behind a test-and-set lock, for which ranks wait longer and longer.
///
/// Source: the barriers of the SCC that had nothing but a test-and-set register, as Christgau 2017, section 3.4.2,
/// tells of them: without the back-off they were no use for more than 32 cores. To compare with.
///
/// Words     of rank 0: guard, a cell, 1 while a rank changes the counter; and that of detail::arrival_counter.
/// States    guard from 0 to 1 and back, by whoever has taken it.
/// Differs   from central_counter: whoever is turned away pauses for a random while, longer at each attempt, and tries
///           again, where there the memory system, or the backend, decides who is next. From the barriers of the
///           source: whoever waits for the others looks at the sum without the lock.
/// Memory    2 cells a rank, of which rank 0's are used; a list of ranks in private memory.
struct guarded_counter {
  static constexpr std::string_view name = "guarded_counter";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 2}; }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control), guard_(first.cells), arrivals_(control, first.cells + 1) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      arrivals_.fence(b, operation, [&](auto const& sum) {
        auto const guard = control_->cell(0, guard_);
        for (unsigned attempt = 0;; ++attempt) {
          word is_free = 0;
          // acquire: pairs with the release below of whoever had it before, so that the last one has all that they did.
          if (guard.compare_exchange(is_free, 1, std::memory_order_acquire)) break;
          control_->pause(attempt, arrivals_.why(operation));
        }
        word const now = sum.load(std::memory_order_relaxed) + 1;
        // release: pairs with the acquire of whoever waits for it.
        sum.reset_unshared(now, std::memory_order_release);
        guard.reset_unshared(0, std::memory_order_release);  // pairs with the acquire above
        return now;
      });
    }

   private:
    Control* control_;
    std::size_t guard_;
    detail::arrival_counter<Control> arrivals_;
  };
};
static_assert(fence_protocol<guarded_counter>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
