// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/sync/policy.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by a counter that everybody adds one to.
///
/// Source: the centralized barrier, Mellor-Crummey and Scott 1991, figure 7. For few ranks, and for ranks that share
/// cores: whoever arrives last lets all others go at once, so a rank needs its core once a fence, where
/// dissemination needs it in each of its rounds, each time after another rank has had it.
///
/// Words     one cell, rank 0's: how many times any rank has arrived since the window was made.
/// States    before fence k (from 1) is over it lies in [(k - 1) n, k n); it only grows. A rank may arrive at
///           fence k + 1 while others have not yet seen the end of fence k, hence >= below.
/// Differs   from the paper's, which counts down and flips a sense: a sum that grows needs no reset.
/// Memory    one cell a rank, of which rank 0's is used; a list of ranks in private memory.
struct central_counter {
  static constexpr std::string_view name = "central_counter";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t) noexcept { return {.slots = 0, .cells = 1}; }

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
      b.publish(everyone);
      all_ += static_cast<word>(control_->size());
      auto const arrived = control_->cell(0, first_);
      // acq_rel: a release that the acquire of whoever sees this arrival pairs with, there or in wait_until (later
      // arrivals continue its release sequence); an acquire for the rank that comes last and does not wait.
      if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < all_) {
        control_->wait_until(arrived, [all = all_](word seen) { return seen >= all; },
                             {.operation = operation, .awaited = others_});
      }
      b.refresh(everyone);
    }

   private:
    Control* control_;
    std::size_t first_;
    word all_ = 0;  ///< what the sum will be when every fence so far is over
    std::vector<rank_t> others_;
  };
};
static_assert(fence_protocol<central_counter>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
