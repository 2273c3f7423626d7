// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>

namespace PGAS_NAMESPACE::sync {

/// In this fence one rank hears from all others, and then tells all of them.
///
/// Source: the barrier of the SCC's libraries on uncached words, the baseline that Christgau 2017 names. It
/// is the simplest fence that needs loads and stores only.
///
/// Words     slot 0 of rank r > 0, written by rank 0: the number of the last fence that is over.
///           slot r > 0 of rank 0, written by r: the number of the last fence that r has reached.
/// States    Both only grow. A rank may reach fence k + 1 before others have seen the end of fence k, hence
///           >= below.
/// Differs   from the usual form: numbers grow, instead of flags that are set and cleared.
/// Memory    n slots a rank, of which n - 1 are used on rank 0 and one elsewhere.
/// Costs     2 (n - 1) stores, half of them by rank 0, one after the other. Rank 0 waits for each other rank,
///           which waits once.
struct master_slave {
  static constexpr std::string_view name = "master_slave";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(ranks), .cells = 0};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), first_(first.slots) {}

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      b.publish(everyone);
      ++reached_;
      auto const is_there = [reached = reached_](word seen) { return seen >= reached; };
      rank_t const self = control_->rank();
      if (self != master) {
        // release: pairs with the acquire load of wait_until in the master; carries this rank's writes.
        auto const report = detail::unconfirmed(control_->slot(master, first_ + index(self), self));
        detail::store_now(report, reached_, std::memory_order_release);
        control_->wait_until(control_->slot(self, first_, master), is_there,
                             {.operation = operation, .awaited = group(&master, 1)});
      } else {
        for (rank_t rank = 1; rank < control_->size(); ++rank) {
          control_->wait_until(control_->slot(master, first_ + index(rank), rank), is_there,
                               {.operation = operation, .awaited = group(&rank, 1)});
        }
        for (rank_t rank = 1; rank < control_->size(); ++rank) {
          // release: pairs with the acquire load of wait_until in `rank`; carries the writes of all ranks.
          detail::store_now(detail::unconfirmed(control_->slot(rank, first_, master)), reached_,
                            std::memory_order_release);
        }
      }
      b.refresh(everyone);
    }

   private:
    static constexpr rank_t master = 0;
    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }

    Control* control_;
    std::size_t first_;
    word reached_ = 0;
  };
};
static_assert(fence_protocol<master_slave>);

}  // namespace PGAS_NAMESPACE::sync
