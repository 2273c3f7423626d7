// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// A part may be two copies, one for its rank's loads and stores and one for the accesses of others. Each
/// boundary carries the changes of one copy to the other. MPI's separate memory model (MPI_WIN_SEPARATE).
///
/// Fits segments that carry changes between two copies. A segment with one copy does nothing there.
struct separate {
  static constexpr std::string_view name = "separate";
  template <segment S>
  static constexpr bool fits = separate_segment<S>;

  static void clean_own(separate_segment auto& s) { s.publish_own(0, s.local().size()); }
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static void drop_own(separate_segment auto& s) { s.refresh_own(); }
  static constexpr void drop_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drain_stores(segment auto&) noexcept {}
  static constexpr void drain_all(segment auto&) noexcept {}

  static void put(segment auto& s, location at, bytes_in from) { s.put(at, from); }
  static void get(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  static void get_now(separate_segment auto& s, location at, bytes_out into) {
    if (at.rank == s.rank()) s.publish_own(at.offset, into.size());  // stores since the last boundary
    s.get(at, into);
  }
  static void load(local_segment auto& s, location at, bytes_out into) {
    if (!into.empty()) std::memcpy(into.data(), s.local().data() + at.offset, into.size());
  }
  static void store(local_segment auto& s, location at, bytes_in from) {
    if (!from.empty()) std::memcpy(s.local().data() + at.offset, from.data(), from.size());
  }
};
static_assert(coherence_policy<separate> && !separate::fits<detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
