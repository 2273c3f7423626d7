// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/coherence/policy.hpp>

namespace pgas::inline PGAS_ASSERTIONS::coherence {

/// The operations of a policy that a mutant can lack.
enum class step { clean_own, clean_remote, drop_own, drop_remote, drain_stores, drain_all };

/// Policy without one of its steps: a wrong policy that some test must catch.
///
/// A mutant is a parameter and not a build, so that all of them live in one test binary.
template <coherence_policy Policy, step Missing>
struct mutated : Policy {
  static constexpr std::string_view name = "mutated";

  static void clean_own(segment auto& s) {
    if constexpr (Missing != step::clean_own) Policy::clean_own(s);
  }
  static void clean_remote(segment auto& s, rank_t rank) {
    if constexpr (Missing != step::clean_remote) Policy::clean_remote(s, rank);
  }
  static void drop_own(segment auto& s) {
    if constexpr (Missing != step::drop_own) Policy::drop_own(s);
  }
  static void drop_remote(segment auto& s, rank_t rank) {
    if constexpr (Missing != step::drop_remote) Policy::drop_remote(s, rank);
  }
  static void drain_stores(segment auto& s) {
    if constexpr (Missing != step::drain_stores) Policy::drain_stores(s);
  }
  static void drain_all(segment auto& s) {
    if constexpr (Missing != step::drain_all) Policy::drain_all(s);
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::coherence
