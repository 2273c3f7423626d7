// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/processor/prefetch_to_write.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Asks for the line of a control word that this rank will change when its next wait ends.
///
/// A change of a word takes its line from the rank that looked at it last, and then that rank fetches it
/// again. Both ways follow each other. A rank that asks while it waits has gone the first way when the wait
/// ends. Do not ask for a word at which its owner looks all the time: the owner takes the line back.
/// Does nothing for words that are not in shared memory.
template <class Word>
[[gnu::always_inline]] inline void will_change([[maybe_unused]] Word const& w) noexcept {
  if constexpr (requires {
                  { w.address() } -> std::same_as<word*>;
                }) {
    prefetch_to_write(w.address());
  }
}

/// Stores to a slot, and asks for its line at once to write it. The store itself asks for the line only when
/// all before it has ended.
template <control_slot Slot>
[[gnu::always_inline]] inline void store_now(Slot const& slot, word value, std::memory_order order) {
  will_change(slot);
  slot.store(value, order);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
