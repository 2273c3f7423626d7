// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// A put drops its target's copies of what it puts, so that the target has nothing to drop when an exposure
/// ends.
///
/// Otherwise the same as write_through. For hardware that lets one core drop lines in another's cache. A put
/// and its drop may happen in any order, since the target does not touch an exposed part. Here the drop is
/// last, so that no old line is fetched again. Source: proposed in Christgau 2017, section 4.6.3, and not
/// built there.
struct drop_with_put {
  static constexpr std::string_view name = "drop_with_put";
  template <segment S>
  static constexpr bool fits = tagged_segment<S> && remote_drop_segment<S>;

  static constexpr void clean_own(segment auto&) noexcept {}
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drop_own(segment auto&) noexcept {}
  static void drop_remote(tagged_segment auto& s, rank_t rank) {
    if (rank != s.rank()) s.drop_tagged();
  }
  static void drain_stores(tagged_segment auto& s) { s.drain_stores(); }
  static void drain_all(tagged_segment auto& s) { s.drain_all(); }

  static void put(remote_drop_segment auto& s, location at, bytes_in from) { s.put_and_drop(at, from); }
  static void get(tagged_segment auto& s, location at, bytes_out into) { s.load_tagged(at, into); }
  static void get_now(tagged_segment auto& s, location at, bytes_out into) {
    s.drop_tagged();
    s.drain_all();
    s.load_tagged(at, into);
  }
  static void load(tagged_segment auto& s, location at, bytes_out into) { s.load_tagged(at, into); }
  static void store(tagged_segment auto& s, location at, bytes_in from) { s.store_through(at, from); }
};
static_assert(coherence_policy<drop_with_put> &&
              coherence_policy_for<drop_with_put, detail::remote_drop_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
