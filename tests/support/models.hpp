// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model_lists.hpp"

/// The models that the suites of this unit run on: the lists that the build has chosen, and the protocols.
namespace pgas_test {

#if !defined(PGAS_TEST_LIST)  // meson.build names the list of each build
#define PGAS_TEST_LIST every_model
#endif

// A unit for one backend defines it before this header, and asserts that it has: see simulated_test.cpp.
#if defined(PGAS_TEST_ONE_BACKEND)
using all_models = std::conditional_t<
    pgas::cache_controlled<PGAS_TEST_ONE_BACKEND::segment_type>,
    std::tuple<model<PGAS_TEST_ONE_BACKEND>, model<PGAS_TEST_ONE_BACKEND, pgas::coherence::drop_at_get>,
               model<PGAS_TEST_ONE_BACKEND, pgas::coherence::uncached>>,
    std::tuple<model<PGAS_TEST_ONE_BACKEND>>>;
#else
using all_models = PGAS_TEST_LIST::all;
#endif
using coherent_models = PGAS_TEST_LIST::coherent;
using incoherent_models = PGAS_TEST_LIST::incoherent;

#if defined(PGAS_TEST_ONE_BACKEND)
using all_backends = std::tuple<PGAS_TEST_ONE_BACKEND>;
#else
template <class Models>
struct backends_of;
template <class... Models>
struct backends_of<std::tuple<Models...>> {
  using type = std::tuple<typename Models::backend...>;
};
using all_backends = backends_of<all_models>::type;
#endif

// For the segment suite: the segments of all backends, or segments that no backend makes by itself.
#if defined(PGAS_TEST_SEGMENTS)
using all_segments = std::tuple<PGAS_TEST_SEGMENTS>;
#else
using all_segments = all_backends;
#endif

// The suites that look at single words, in all their orders, take the lists `on_words`.
using fence_protocols = std::tuple<pgas::sync::dissemination, pgas::sync::central_counter,
                                   pgas::default_fence, pgas::sync::tournament, pgas::sync::master_slave,
                                   pgas::sync::guarded_counter, pgas::sync::node_first>;
// A match list has a place for each rank of the largest test.
using posts_on_words = std::tuple<pgas::sync::match_vector, pgas::sync::stamped, pgas::sync::post_array,
                                  pgas::sync::match_list<128>, pgas::sync::two_vectors,
                                  pgas::sync::post_messages, pgas::sync::immediate<pgas::sync::match_vector>>;
using post_protocols = decltype(std::tuple_cat(posts_on_words{}, std::tuple<pgas::sync::mailed_posts>{}));
using two_level_variants =
    std::tuple<pgas::sync::two_level<>, pgas::sync::two_level<pgas::sync::waiting_readers::undo>,
               pgas::sync::two_level<pgas::sync::waiting_readers::stay, pgas::sync::retries::at_once>,
               pgas::sync::two_level<pgas::sync::waiting_readers::undo, pgas::sync::retries::at_once>>;
using target_locks_on_words = decltype(std::tuple_cat(
    std::tuple<pgas::sync::queued, pgas::sync::mcs, pgas::sync::mcs_wp, pgas::sync::bakery,
               pgas::sync::lock_messages, pgas::sync::deferred<pgas::sync::lock_messages>,
               pgas::sync::biased<pgas::sync::queued>, pgas::sync::biased<pgas::sync::bakery>>{},
    two_level_variants{}));
using target_lock_protocols =
    decltype(std::tuple_cat(target_locks_on_words{}, std::tuple<pgas::sync::mailed_locks>{}));
using lock_protocols =
    decltype(std::tuple_cat(std::tuple<pgas::sync::shared_only>{}, target_lock_protocols{}));

/// Locks, and makes sure that the part is held, with any protocol.
template <class Protocol, class Boundary>
void hold(Protocol& protocol, pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
  protocol.lock(target, kind, b);
  if constexpr (requires { protocol.first_access(target, b); }) protocol.first_access(target, b);
}

}  // namespace pgas_test
