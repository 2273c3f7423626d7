// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/control.hpp>

namespace PGAS_NAMESPACE {

/// The ranks that take elements out of a queue.
enum class takers {
  one,  ///< the rank that is the queue's home
  any,  ///< all ranks
};

namespace detail {

/// The place of the cells of a ring: all at the home, or dealt to the ranks in turn.
struct ring_places {
  rank_t home = 0;        ///< the rank of the two tickets, and of all cells if they are in one place
  std::size_t cells = 1;  ///< at least 1
  rank_t owners = 1;      ///< 1, or the number of ranks among which the cells are dealt

  /// The cells of each owner, rounded up.
  [[nodiscard]] constexpr std::size_t cells_each() const noexcept {
    auto const n = static_cast<std::size_t>(owners);
    return (cells + n - 1) / n;
  }
  /// The words of a ring: two tickets, and a turn for each cell.
  [[nodiscard]] constexpr control_words words() const noexcept {
    return {.slots = 0, .cells = first_turn + cells_each()};
  }
  /// The words of a ring whose turns are elsewhere.
  [[nodiscard]] static constexpr control_words tickets() noexcept {
    return {.slots = 0, .cells = first_turn};
  }
  static constexpr std::size_t first_turn = 2;
};

}  // namespace detail
}  // namespace PGAS_NAMESPACE
