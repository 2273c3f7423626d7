// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/platform/words/arrival_counter.hpp>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by a counter that everybody adds one to.
///
/// Source: the centralized barrier, Mellor-Crummey and Scott 1991, figure 7. For few ranks, and for ranks that share
/// cores: whoever arrives last lets all others go at once, so a rank needs its core once a fence, where
/// dissemination needs it in each of its rounds, each time after another rank has had it.
///
/// Words, states, memory and how it differs are those of detail::arrival_counter.
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
      arrivals_.fence(b, operation, [](auto const& sum) {
        // acq_rel: a release that the acquire of whoever sees this arrival pairs with, there or in wait_until (later
        // arrivals continue its release sequence); an acquire for the rank that comes last and does not wait.
        return sum.fetch_add(1, std::memory_order_acq_rel) + 1;
      });
    }

   private:
    detail::arrival_counter<Control> arrivals_;
  };
};
static_assert(fence_protocol<central_counter>);

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
