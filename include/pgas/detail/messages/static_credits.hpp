// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/messages/credit_policy.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Each sender has an equal share of half of the free memory, and gets back what it has used.
struct static_credits {
  static constexpr std::string_view name = "static_credits";
  static constexpr bool is_unlimited = false;
  static constexpr bool returns = true;

  static std::size_t state_bytes(rank_t) noexcept { return 0; }
  static_credits(bounded_memory&, rank_t) noexcept {}
  static std::size_t first(std::size_t free, rank_t ranks) noexcept {
    return free / 2 / static_cast<std::size_t>(ranks) / 16 * 16;
  }
  static void received(arrived_message const&) noexcept {}
  template <class Grant>
  static void plan(std::size_t, Grant const&) noexcept {}
};
static_assert(message_credits<static_credits>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
