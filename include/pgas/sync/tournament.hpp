// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>

namespace PGAS_NAMESPACE::sync {

/// This fence is the tournament barrier: in each round half of the remaining ranks report to the other half.
/// The end is announced on the way back.
///
/// Source: Hensgen, Finkel and Manber 1988; Mellor-Crummey and Scott 1991, figure 8, with the wake-up tree.
///
/// Words     slot k of rank r, written by r + 2^k only, for rounds k in which r waits: the number of the last
///           fence that r + 2^k and all its reporters have reached.
///           the slot after the last round, written by the rank to which r reports: the number of the last
///           fence that is over.
/// States    In round k rank r waits for r + 2^k if 2^(k + 1) divides r. In the first round where it does
///           not, r reports to r - 2^k and waits for the end. Slots only grow; a partner may be one fence
///           ahead, hence >= below.
/// Differs   from the paper's flags and senses: a number that grows needs no second set and no reset.
/// Memory    ceil(log2 n) + 1 slots a rank.
/// Costs     2 (n - 1) stores in all, in 2 ceil(log2 n) steps; dissemination needs n ceil(log2 n) stores in
///           half the steps.
struct tournament {
  static constexpr std::string_view name = "tournament";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = rounds(ranks) + 1, .cells = 0};
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
      std::size_t const over = first_ + rounds(size);
      std::size_t round = first_;
      rank_t distance = 1;
      for (; distance < size && self % (2 * distance) == 0; distance *= 2, ++round) {
        if (self + distance < size) wait_for(self + distance, round, operation);
      }
      if (self != 0) {
        rank_t const winner = self - distance;
        // release: pairs with the acquire load of wait_until in `winner`; carries this rank's writes, and
        // those that were reported to it.
        detail::store_now(detail::unconfirmed(control_->slot(winner, round, self)), reached_,
                          std::memory_order_release);
        wait_for(winner, over, operation);
      }
      while (distance > 1) {
        distance /= 2;
        if (self + distance >= size) continue;
        // release: pairs with the acquire load of wait_until in that rank; carries the writes of all ranks.
        detail::store_now(detail::unconfirmed(control_->slot(self + distance, over, self)), reached_,
                          std::memory_order_release);
      }
      b.refresh(everyone);
    }

   private:
    void wait_for(rank_t from, std::size_t slot, std::string_view operation) {
      control_->wait_until(control_->slot(control_->rank(), slot, from),
                           [reached = reached_](word seen) { return seen >= reached; },
                           {.operation = operation, .awaited = group(&from, 1)});
    }

    Control* control_;
    std::size_t first_;
    word reached_ = 0;
  };

 private:
  static constexpr std::size_t rounds(rank_t ranks) noexcept {
    return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  }
};
static_assert(fence_protocol<tournament>);

}  // namespace PGAS_NAMESPACE::sync
