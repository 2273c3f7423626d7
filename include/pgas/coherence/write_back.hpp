// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// Own stores stay in this rank's cache until a boundary cleans them; puts go past the cache.
///
/// A put is exact to the byte and leaves no copy. It thus destroys no neighbour's bytes, and `complete` has
/// nothing to clean. A get reads copies, which are dropped when a target signals. A passive-target get drops
/// its range first, since no boundary tells when memory has changed. The clean at `post` keeps an owner's
/// dirty line from being written over a peer's put. The policy for write-back caches that no hardware keeps
/// coherent: several hosts on one memory pool. Source: design after Christgau 2017, chapter 4 (release and
/// acquire at the epoch's ends) and the flush rules of the processors' manuals.
struct write_back {
  static constexpr std::string_view name = "write_back";
  template <segment S>
  static constexpr bool fits = cache_controlled<S>;

  static void clean_own(cache_controlled auto& s) { detail::clean_part(s, s.rank()); }
  static constexpr void clean_remote(cache_controlled auto&, rank_t) noexcept {}
  static void drop_own(cache_controlled auto& s) { detail::drop_part(s, s.rank()); }
  static void drop_remote(cache_controlled auto& s, rank_t rank) { detail::drop_part(s, rank); }
  static void drain_stores(cache_controlled auto& s) { s.drain_stores(); }
  static void drain_all(cache_controlled auto& s) { s.drain_all(); }

  static void put(cache_controlled auto& s, location at, bytes_in from) { s.put(at, from); }
  static void get(cache_controlled auto& s, location at, bytes_out into) { s.load(at, into); }
  static void get_now(cache_controlled auto& s, location at, bytes_out into) {
    if (!into.empty()) {
      if (at.rank == s.rank()) s.clean(at, into.size());  // own stores, which a drop may lose
      s.drop(at, into.size());
    }
    s.drain_all();
    s.load(at, into);
  }
  static void load(cache_controlled auto& s, location at, bytes_out into) { s.load(at, into); }
  static void store(cache_controlled auto& s, location at, bytes_in from) { s.store(at, from); }
};
static_assert(coherence_policy<write_back> && coherence_policy_for<write_back, detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
