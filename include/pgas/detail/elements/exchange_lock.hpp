// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/error.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A lock on one rank's part that the object holds for its life: a cell of that rank, taken by an exchange.
template <control Control>
class exchange_lock {
 public:
  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  exchange_lock(Control& control, control_words first, rank_t target)
      : cell_(control.cell(target, first.cells)) {
    // acquire: pairs with the release in the destructor of the last holder.
    while (cell_.exchange(1, std::memory_order_acquire) != 0) {
      control.wait_until(cell_, [](word held) { return held == 0; }, {.operation = "accumulate"});
    }
  }
  exchange_lock(exchange_lock const&) = delete;
  exchange_lock& operator=(exchange_lock const&) = delete;
  ~exchange_lock() {
    try {
      cell_.exchange(0, std::memory_order_release);
    } catch (error const&) {
      // The job has failed, so the lock has no next holder; this rank's next operation throws again.
    }
  }

 private:
  decltype(std::declval<Control&>().cell(0, 0)) cell_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
