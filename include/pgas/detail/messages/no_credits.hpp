// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/messages/credit_policy.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Senders have no credit: every message waits for its receiver's answer.
struct no_credits {
  static constexpr std::string_view name = "no_credits";
  static constexpr bool is_unlimited = false;
  static constexpr bool returns = false;

  static std::size_t state_bytes(rank_t) noexcept { return 0; }
  no_credits(bounded_memory&, rank_t) noexcept {}
  static std::size_t first(std::size_t, rank_t) noexcept { return 0; }
  static void received(arrived_message const&) noexcept {}
  template <class Grant>
  static void plan(std::size_t, Grant const&) noexcept {}
};
static_assert(message_credits<no_credits>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
