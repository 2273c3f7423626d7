// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The read-modify-writes of a control cell whose memory has only one: Cell's update(change, order).
///
/// `update` replaces the value by change(value) in one step, and returns the old value. It stores nothing if
/// the value stays the same, so a compare_exchange that fails disturbs no rank that waits for the word.
template <class Cell>
struct updated_cell : refuses_store {
  word fetch_add(word value, std::memory_order order) const {
    return this_cell().update([value](word old) { return old + value; }, order);
  }
  word fetch_xor(word value, std::memory_order order) const {
    return this_cell().update([value](word old) { return old ^ value; }, order);
  }
  word exchange(word value, std::memory_order order) const {
    return this_cell().update([value](word) { return value; }, order);
  }
  bool compare_exchange(word& expected, word desired, std::memory_order order) const {
    word const wanted = expected;
    expected = this_cell().update([=](word old) { return old == wanted ? desired : old; }, order);
    return expected == wanted;
  }

 private:
  [[nodiscard]] Cell const& this_cell() const noexcept { return static_cast<Cell const&>(*this); }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
