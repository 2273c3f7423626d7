// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The core and process_map, by layer: an include may only point up this list.
/// Not here, to be included by who uses them: backends/loopback.hpp, backends/pool_map.hpp, backends/self.hpp,
/// model.hpp, views.hpp, other distributions and layouts, coherence policies for memory with private copies.

// 1 vocabulary
#include <pgas/vocabulary/block_shape.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/hints.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/request.hpp>
#include <pgas/vocabulary/transportable.hpp>
// 2 concepts
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/concepts/boundary.hpp>
#include <pgas/concepts/coherence_policy.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/distribution.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/segment.hpp>
// 3 models
#include <pgas/backends/process_map.hpp>
#include <pgas/coherence/coherent.hpp>
#include <pgas/distributions/block.hpp>
#include <pgas/sync/by_size.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/queued.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/signal_counts.hpp>
#include <pgas/sync/stamped.hpp>
// 4 run
#include <pgas/access.hpp>
#include <pgas/exposure.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/options.hpp>
#include <pgas/run.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>
#include <pgas/team.hpp>
#include <pgas/user_window.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/window.hpp>
#include <pgas/window/global_ref.hpp>
