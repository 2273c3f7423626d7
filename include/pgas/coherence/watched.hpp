// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// The memory system makes copies agree, and each access is a call of the segment, which checks it: also a
/// rank's loads and stores in its own part. The segment learns of each boundary that publishes them.
///
/// Fits segments that offer such calls, and no control of caches.
struct watched {
  static constexpr std::string_view name = "watched";
  template <segment S>
  static constexpr bool fits =
      !cache_controlled<S> && requires(S& s, location at, bytes_in from, bytes_out into) {
        s.load(at, into);
        s.store(at, from);
        s.published_own();
      };

  static void clean_own(segment auto& s) { s.published_own(); }
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drop_own(segment auto&) noexcept {}
  static constexpr void drop_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drain_stores(segment auto&) noexcept {}
  static constexpr void drain_all(segment auto&) noexcept {}

  // Inlined, so that a report of the checker names the program's line.
  [[gnu::always_inline]] static void put(segment auto& s, location at, bytes_in from) { s.put(at, from); }
  [[gnu::always_inline]] static void get(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  [[gnu::always_inline]] static void get_now(segment auto& s, location at, bytes_out into) {
    s.get(at, into);
  }
  [[gnu::always_inline]] static void load(segment auto& s, location at, bytes_out into) { s.load(at, into); }
  [[gnu::always_inline]] static void store(segment auto& s, location at, bytes_in from) { s.store(at, from); }
};
static_assert(coherence_policy<watched> && !watched::fits<detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
