// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <pgas/concepts/protocol.hpp>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by the dissemination barrier.
///
/// Source: Hensgen, Finkel and Manber 1988; Mellor-Crummey and Scott 1991, figure 9. In round k rank r
/// signals r + 2^k and waits for r - 2^k; after ceil(log2 n) rounds everybody has heard of everybody.
///
/// Words     slot k of rank r, written by r - 2^k only: the number of the last fence that r - 2^k has
///           reached round k of.
/// States    a slot only grows. A partner may be one fence ahead of this rank, never two (it would
///           need this rank's signal), hence >= below.
/// Differs   from the paper's parity and sense flags: a number that grows needs no second set and
///           no reset, and every word is a store by its only writer: no read-modify-write.
/// Memory    ceil(log2 n) slots a rank.
struct dissemination {
  static constexpr std::string_view name = "dissemination";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))), .cells = 0};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), first_(first.slots) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      b.publish(everyone);
      ++reached_;
      rank_t const self = control_->rank();
      rank_t const size = control_->size();
      std::size_t round = first_;
      for (rank_t distance = 1; distance < size; distance *= 2, ++round) {
        // Around the ring; without a division, which would take longer than all else here but the wait.
        rank_t const to = self + distance < size ? self + distance : self + distance - size;
        rank_t const from = self < distance ? self - distance + size : self - distance;
        // release: pairs with the acquire load of wait_until in `to`; carries what this rank has
        // written, and what it has heard of in earlier rounds.
        control_->slot(to, round, self).store(reached_, std::memory_order_release);
        control_->wait_until(control_->slot(self, round, from),
                             [reached = reached_](word seen) { return seen >= reached; },
                             {.operation = operation, .awaited = group(&from, 1)});
      }
      b.refresh(everyone);
    }

   private:
    Control* control_;
    std::size_t first_;
    word reached_ = 0;
  };
};
static_assert(fence_protocol<dissemination>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
