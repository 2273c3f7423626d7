// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/coherence/write_back.hpp>

namespace PGAS_NAMESPACE::coherence {

/// Like write_back, but each clean or drop is one flush of this rank's whole cache, whatever the window's
/// size.
///
/// For machines whose caches have no cheap operation on a range. Each flush writes the whole cache back, and
/// the cache is cold afterwards. Source: scheme C4 of Christgau 2017, which the thesis rejects for this cost.
struct whole_cache : write_back {
  static constexpr std::string_view name = "whole_cache";
  template <segment S>
  static constexpr bool fits = flushable_segment<S>;

  static void clean_own(flushable_segment auto& s) { s.flush_copies(); }
  static void drop_own(flushable_segment auto& s) { s.flush_copies(); }
  static void drop_remote(flushable_segment auto& s, rank_t) { s.flush_copies(); }
  static void get_now(flushable_segment auto& s, location at, bytes_out into) {
    s.flush_copies();
    s.drain_all();
    s.load(at, into);
  }
};
static_assert(coherence_policy<whole_cache> && coherence_policy_for<whole_cache, detail::flush_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
