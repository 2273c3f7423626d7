// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// Loads leave tagged copies; stores go through a write-combining buffer to memory. No cache ever holds the
/// only new value, so one instruction may drop all copies.
///
/// publish drains the buffer and refresh drops the tagged copies; the cost of either does not depend on the
/// size. No line is written back whole, so ranks may write beside each other. The policy for the SCC.
/// Source    SCOSCo (Christgau 2017, scheme C6 and listing 4.1).
/// Differs   from it: the drop of the own part and that of each remote part are one instruction each; the
///           hints no_store and no_put erase the drop; a changed look-up table drops too.
struct write_through {
  static constexpr std::string_view name = "write_through";
  template <segment S>
  static constexpr bool fits = tagged_segment<S>;

  static constexpr void clean_own(segment auto&) noexcept {}
  static constexpr void clean_remote(segment auto&, rank_t) noexcept {}
  static void drop_own(tagged_segment auto& s) { s.drop_tagged(); }
  static void drop_remote(tagged_segment auto& s, rank_t) { s.drop_tagged(); }
  static void drain_stores(tagged_segment auto& s) { s.drain_stores(); }
  static void drain_all(tagged_segment auto& s) { s.drain_all(); }

  static void put(tagged_segment auto& s, location at, bytes_in from) { s.store_through(at, from); }
  static void get(tagged_segment auto& s, location at, bytes_out into) { s.load_tagged(at, into); }
  static void get_now(tagged_segment auto& s, location at, bytes_out into) {
    s.drop_tagged();
    s.drain_all();
    s.load_tagged(at, into);
  }
  static void load(tagged_segment auto& s, location at, bytes_out into) { s.load_tagged(at, into); }
  static void store(tagged_segment auto& s, location at, bytes_in from) { s.store_through(at, from); }
};
static_assert(coherence_policy<write_through> &&
              coherence_policy_for<write_through, detail::tagged_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
