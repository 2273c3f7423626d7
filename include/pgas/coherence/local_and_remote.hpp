// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/coherence_policy.hpp>

namespace PGAS_NAMESPACE::coherence {

/// One policy for this rank's own part, another for remote parts, so that each side has a memory type of its
/// own.
///
/// Right only if the sides meet in memory: `Local`'s clean must bring own stores there, and after `Local`'s
/// drop this rank must see the puts of others. Both drains are issued. Source: the two mapping modes of
/// Christgau 2017, sections 4.1 and 4.3.
template <coherence_policy Local, coherence_policy Remote>
struct local_and_remote {
  static constexpr std::string_view name = "local_and_remote";
  template <segment S>
  static constexpr bool fits = Local::template fits<S> && Remote::template fits<S>;

  static void clean_own(segment auto& s) { Local::clean_own(s); }
  static void clean_remote(segment auto& s, rank_t rank) { Remote::clean_remote(s, rank); }
  static void drop_own(segment auto& s) { Local::drop_own(s); }
  static void drop_remote(segment auto& s, rank_t rank) { Remote::drop_remote(s, rank); }
  static void drain_stores(segment auto& s) {
    Local::drain_stores(s);
    if constexpr (!std::is_same_v<Local, Remote>) Remote::drain_stores(s);
  }
  static void drain_all(segment auto& s) {
    Local::drain_all(s);
    if constexpr (!std::is_same_v<Local, Remote>) Remote::drain_all(s);
  }

  static void put(segment auto& s, location at, bytes_in from) {
    // A put to the own part must not leave the own copies behind.
    at.rank == s.rank() ? Local::put(s, at, from) : Remote::put(s, at, from);
  }
  static void get(segment auto& s, location at, bytes_out into) {
    at.rank == s.rank() ? Local::get(s, at, into) : Remote::get(s, at, into);
  }
  static void get_now(segment auto& s, location at, bytes_out into) {
    at.rank == s.rank() ? Local::get_now(s, at, into) : Remote::get_now(s, at, into);
  }
  static void load(segment auto& s, location at, bytes_out into) { Local::load(s, at, into); }
  static void store(segment auto& s, location at, bytes_in from) { Local::store(s, at, from); }
};

}  // namespace PGAS_NAMESPACE::coherence
