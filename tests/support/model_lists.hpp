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
#include <pgas/sync/node_first.hpp>
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

#include "incoherent/backend.hpp"
#include "temporary_pool.hpp"

/// The backends and policies that the suites run on, as lists: a name added to one inherits each suite of its
/// concept.
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

/// The stand-in for a model in a sanitizer's build: it sees one process, so threads stand for processes.
/// void: the model is not in that build.
template <class Model>
using under_sanitizers =
    std::conditional_t<std::is_same_v<Model, process_model> || std::is_same_v<Model, thread_model>,
                       thread_model, void>;

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

/// The backends that reach memory in different ways, for the layers that look at them.
struct each_way {
  using all = std::tuple<process_model, loopback_model, write_back_model, scc_model>;
  using coherent = std::tuple<self_model, process_model, loopback_model>;
  using incoherent = std::tuple<at_get_model, uncached_model, scc_model, scc_write_back_model>;
  using boxes = std::tuple<process_model, loopback_model, write_back_model>;
  template <class Model>
  using here = Model;
};

/// Both sanitizers' in the default run.
struct threads_alone {
  using all = std::tuple<thread_model>;
  using coherent = all;
  using incoherent = std::tuple<>;
  using boxes = all;
  template <class Model>
  using here = under_sanitizers<Model>;
};

/// Both sanitizers' in the full run.
struct threads_and_copies {
  using all = std::tuple<thread_model, write_back_model>;
  using coherent = std::tuple<thread_model>;
  using incoherent = std::tuple<write_back_model>;
  using boxes = all;
  template <class Model>
  using here = std::conditional_t<std::is_same_v<Model, write_back_model>, Model, under_sanitizers<Model>>;
};

/// Shared memory, and copies that do not agree: for a first look at a change, and for the layers that reach
/// memory through windows alone.
struct telling_models {
  using all = std::tuple<process_model, write_back_model>;
  using coherent = std::tuple<process_model>;
  using incoherent = std::tuple<write_back_model, scc_model>;
  using boxes = std::tuple<process_model, write_back_model>;
  template <class Model>
  using here = Model;
};

}  // namespace pgas_test
