// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// No access leaves a copy behind, so there is nothing to clean or drop: right everywhere, and slow.
///
/// Own stores are puts to the own part, which the boundary's flush completes. For small windows that every
/// rank writes, and as the reference for other policies.
struct uncached {
  static constexpr std::string_view name = "uncached";
  template <segment S>
  static constexpr bool fits = true;

  static void clean_own(segment auto& s) { s.flush(s.rank()); }
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drop_own(segment auto&) noexcept {}
  static constexpr void drop_remote(segment auto&, rank_t) noexcept {}
  static void drain_stores(segment auto& s) {
    if constexpr (cache_controlled<std::remove_cvref_t<decltype(s)>>) s.drain_stores();
  }
  static constexpr void drain_all(segment auto&) noexcept {}

  static void put(segment auto& s, location at, bytes_in from) { s.put(at, from); }
  static void get(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  static void get_now(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  static void load(segment auto& s, location at, bytes_out into) {
    s.flush(s.rank());  // a load sees this rank's own earlier stores
    s.get(at, into);
    s.flush_local(s.rank());
  }
  static void store(segment auto& s, location at, bytes_in from) {
    s.put(at, from);
    s.flush_local(s.rank());
  }
};
static_assert(coherence_policy<uncached> && coherence_policy_for<uncached, detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
