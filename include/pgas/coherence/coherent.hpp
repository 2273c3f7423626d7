// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// The memory system makes copies agree: every function is empty or a plain access.
///
/// Fits segments whose own part is plain memory and which offer no control of caches.
struct coherent {
  static constexpr std::string_view name = "coherent";
  static constexpr bool is_empty = true;  ///< it cleans, drops and drains nothing
  template <segment S>
  static constexpr bool fits = local_segment<S> && !cache_controlled<S>;

  static constexpr void clean_own(segment auto&) noexcept {}
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drop_own(segment auto&) noexcept {}
  static constexpr void drop_remote(segment auto&, rank_t) noexcept {}
  static constexpr void drain_stores(segment auto&) noexcept {}
  static constexpr void drain_all(segment auto&) noexcept {}

  static void put(segment auto& s, location at, bytes_in from) { s.put(at, from); }
  static void get(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  static void get_now(segment auto& s, location at, bytes_out into) { s.get(at, into); }
  static void load(local_segment auto& s, location at, bytes_out into) {
    if (!into.empty()) std::memcpy(into.data(), s.local().data() + at.offset, into.size());
  }
  static void store(local_segment auto& s, location at, bytes_in from) {
    if (!from.empty()) std::memcpy(s.local().data() + at.offset, from.data(), from.size());
  }
};
static_assert(coherence_policy<coherent> && !coherent::fits<detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
