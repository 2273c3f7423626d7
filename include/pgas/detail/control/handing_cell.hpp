// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/control.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The line of such a cell can leave the cache of this rank's core before another rank asks for it.
///
/// `hand_on()` is a hint after a change: a rank on another core likely makes the next one, which is quicker
/// then. It costs about a transfer of the line if this rank makes the next change. `hands_on()` tells whether
/// this processor heeds the hint. It says the same during the whole run, but maybe not on all ranks.
template <class C>
concept handing_cell = waking_cell<C> && requires(C const& c) {
  { C::hands_on() } noexcept -> std::same_as<bool>;
  { c.hand_on() } noexcept;
};

/// Returns whether hand_on of such cells does anything.
template <control_cell C>
[[nodiscard]] bool hands_on() noexcept {
  if constexpr (handing_cell<C>) {
    return C::hands_on();
  } else {
    return false;
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
