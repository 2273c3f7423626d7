// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/coherence/write_back.hpp>

namespace PGAS_NAMESPACE::coherence {

/// Like write_back, but copies of remote parts are dropped by each get and not by the boundary.
///
/// For epochs that get little out of large parts. The boundary costs nothing for remote parts; each get costs
/// the drop of its own range and a drain.
struct drop_at_get : write_back {
  static constexpr std::string_view name = "drop_at_get";

  static constexpr void drop_remote(cache_controlled auto&, rank_t) noexcept {}
  static void get(cache_controlled auto& s, location at, bytes_out into) {
    if (at.rank != s.rank() && !into.empty()) {
      s.drop(at, into.size());
      s.drain_all();
    }
    s.load(at, into);
  }
};
static_assert(coherence_policy<drop_at_get> && coherence_policy_for<drop_at_get, detail::cache_archetype>);

}  // namespace PGAS_NAMESPACE::coherence
