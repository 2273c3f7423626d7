// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/loopback.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/backends/self.hpp>
#include <pgas/coherence/drop_at_get.hpp>
#include <pgas/coherence/uncached.hpp>
#include <pgas/coherence/write_back.hpp>
#include <pgas/core.hpp>
#include <pgas/sync/bakery.hpp>
#include <pgas/sync/biased.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/deferred.hpp>
#include <pgas/sync/immediate.hpp>
#include <pgas/sync/lock_messages.hpp>
#include <pgas/sync/mailed_locks.hpp>
#include <pgas/sync/mailed_posts.hpp>
#include <pgas/sync/master_slave.hpp>
#include <pgas/sync/match_list.hpp>
#include <pgas/sync/mcs.hpp>
#include <pgas/sync/mcs_wp.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/post_messages.hpp>
#include <pgas/sync/queued.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/tournament.hpp>
#include <pgas/sync/two_level.hpp>
#include <pgas/sync/two_vectors.hpp>
#include <string>
#include <tuple>
#include <type_traits>

#include "../incoherent/backend.hpp"
#include "temporary_pool.hpp"

/// Everything that the suites run on: a name added to a list inherits each suite of its concept.
namespace pgas_test {

/// A window's three choices of backend, coherence and protocols.
template <class Backend, class Coherence = typename Backend::default_coherence,
          class Protocols = pgas::default_protocols_on<Backend>>
struct model {
  using backend = Backend;
  using coherence = Coherence;
  using protocols = Protocols;
  using team = pgas::team<Backend, Coherence, Protocols>;

  static std::string name() {
    return std::string(Backend::name) + "+" + std::string(Coherence::name) + "+" +
           pgas::protocols_name<Protocols>();
  }
};

using self_model = model<pgas::backends::self>;
using thread_model = model<pgas::backends::thread_map>;
using loopback_model = model<pgas::backends::loopback>;
using process_model = model<pgas::backends::process_map>;

using write_back_model = model<incoherent::backend, pgas::coherence::write_back>;
using at_get_model = model<incoherent::backend, pgas::coherence::drop_at_get>;
using uncached_model = model<incoherent::backend, pgas::coherence::uncached>;
using scc_model = model<pgas::backends::scc>;
using scc_write_back_model = model<pgas::backends::scc, pgas::coherence::write_back>;

using pool_model = model<pool_backend>;

/// What a sanitizer's build has in place of a model: it sees one process, so threads stand for processes.
/// Memory behind an emulated cache is the other kind that it looks at. void: no other model is in that build.
template <class Model>
using under_sanitizers = std::conditional_t<
    std::is_same_v<Model, process_model>, thread_model,
    std::conditional_t<std::is_same_v<typename Model::backend, pgas::backends::thread_map> ||
                           (Model::backend::name == incoherent::backend::name &&
                            std::is_same_v<typename Model::coherence, pgas::coherence::write_back>),
                       Model, void>>;

/// The models of a build. `all`: each backend once, for the conformance and unit suites. `coherent` and
/// `incoherent`: with each policy, for the random programs. `boxes`: models that move boxes in different
/// ways, for bodies with many layouts. `here`: what the build runs in place of a model that a test names.
struct every_model {
  using all = std::tuple<self_model, process_model, loopback_model, write_back_model, scc_model, pool_model>;
  using coherent = std::tuple<self_model, thread_model, process_model, loopback_model>;
  using incoherent =
      std::tuple<write_back_model, at_get_model, uncached_model, scc_model, scc_write_back_model>;
  using boxes = std::tuple<process_model, loopback_model, write_back_model>;
  template <class Model>
  using here = Model;
};

/// The address sanitizer's.
struct models_for_addresses {
  using all = std::tuple<thread_model, write_back_model>;
  using coherent = std::tuple<thread_model>;
  using incoherent = std::tuple<write_back_model>;
  using boxes = all;
  template <class Model>
  using here = under_sanitizers<Model>;
};

/// The thread sanitizer's.
struct models_for_threads {
  using all = std::tuple<thread_model>;
  using coherent = all;
  using incoherent = std::tuple<write_back_model>;
  using boxes = all;
  template <class Model>
  using here = under_sanitizers<Model>;
};

/// Those of every_model that no sanitizer's build runs.
struct models_of_no_sanitizer {
  using all = std::tuple<self_model, process_model, loopback_model, scc_model, pool_model>;
  using coherent = std::tuple<self_model, process_model, loopback_model>;
  using incoherent = std::tuple<at_get_model, uncached_model, scc_model, scc_write_back_model>;
  using boxes = std::tuple<process_model, loopback_model>;
  template <class Model>
  using here = std::conditional_t<std::is_same_v<Model, under_sanitizers<Model>>, void, Model>;
};

/// Shared memory, and copies that do not agree: for a first look at a change.
struct telling_models {
  using all = std::tuple<process_model, write_back_model>;
  using coherent = std::tuple<process_model>;
  using incoherent = std::tuple<write_back_model, scc_model>;
  using boxes = std::tuple<process_model, write_back_model>;
  template <class Model>
  using here = Model;
};

#if !defined(PGAS_TEST_LIST)  // meson.build names the list of each build
#define PGAS_TEST_LIST every_model
#endif

#if defined(PGAS_TEST_ONE_BACKEND)  // a unit for one backend, which it defines before this header
using all_models =
    std::tuple<model<PGAS_TEST_ONE_BACKEND>, model<PGAS_TEST_ONE_BACKEND, pgas::coherence::drop_at_get>,
               model<PGAS_TEST_ONE_BACKEND, pgas::coherence::uncached>>;
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
using fence_protocols =
    std::tuple<pgas::sync::dissemination, pgas::sync::central_counter, pgas::default_fence,
               pgas::sync::tournament, pgas::sync::master_slave, pgas::sync::guarded_counter>;
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
