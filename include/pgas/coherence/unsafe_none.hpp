// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/coherence/write_back.hpp>

namespace PGAS_NAMESPACE::coherence {

/// Does nothing where write_back cleans, drops or drains: wrong on purpose.
///
/// For negative tests, and to find out whether a machine needs cleans and drops at all. Fits the same
/// segments as write_back.
struct unsafe_none : write_back {
  static constexpr std::string_view name = "unsafe_none";

  static constexpr void clean_own(segment auto&) noexcept {}
  static constexpr void drop_own(segment auto&) noexcept {}
  static constexpr void drop_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drain_stores(segment auto&) noexcept {}
  static constexpr void drain_all(segment auto&) noexcept {}
  static void get_now(cache_controlled auto& s, location at, bytes_out into) { s.load(at, into); }
};
static_assert(coherence_policy<unsafe_none> && coherence_policy_for<unsafe_none, detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
