// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>

namespace PGAS_NAMESPACE::sync {

/// This fence is the dissemination barrier: in ceil(log2 n) rounds every rank hears from all ranks.
///
/// Source: Hensgen, Finkel and Manber 1988; Mellor-Crummey and Scott 1991, figure 9. In round k rank r
/// signals r + 2^k and waits for r - 2^k.
///
/// Words     slot k of rank r, written by r - 2^k only: the number of the last fence in which r - 2^k has
///           reached round k.
/// States    A slot only grows. A partner may be one fence ahead of this rank, hence >= below. It is never
///           two fences ahead, since it would need this rank's signal.
/// Differs   from the paper's parity and sense flags: a number that grows needs no second set and no reset.
///           Every word is stored by its only writer, so no read-modify-write is needed.
/// Memory    ceil(log2 n) slots a rank.
/// Costs     each rank stores and waits ceil(log2 n) times.
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
        // Around the ring, without a division: that would take longer than everything else here but the wait.
        rank_t const to = self + distance < size ? self + distance : self + distance - size;
        rank_t const from = self < distance ? self - distance + size : self - distance;
        // release: pairs with the acquire load of wait_until in `to`; carries this rank's writes, and those
        // it has heard of in earlier rounds.
        detail::store_now(detail::unconfirmed(control_->slot(to, round, self)), reached_,
                          std::memory_order_release);
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

}  // namespace PGAS_NAMESPACE::sync
