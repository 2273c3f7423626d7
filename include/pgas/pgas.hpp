// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The core and process_map, by layer: an include may only point up this list.
/// Not here, to be included by who uses them: backends/loopback.hpp, backends/pool_map.hpp, backends/self.hpp,
/// model.hpp, views.hpp, other distributions and layouts, coherence policies for memory with private copies.

// 1 vocabulary
#include <pgas/block_shape.hpp>
#include <pgas/error.hpp>
#include <pgas/hints.hpp>
#include <pgas/op.hpp>
#include <pgas/rank.hpp>
#include <pgas/request.hpp>
#include <pgas/transportable.hpp>
// 2 concepts
#include <pgas/backend.hpp>
#include <pgas/bootstrap.hpp>
#include <pgas/boundary.hpp>
#include <pgas/coherence/policy.hpp>
#include <pgas/control.hpp>
#include <pgas/distribution.hpp>
#include <pgas/mailbox.hpp>
#include <pgas/segment.hpp>
#include <pgas/sync/policy.hpp>
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
#include <pgas/choices.hpp>
#include <pgas/exposure.hpp>
#include <pgas/fence.hpp>
#include <pgas/global_ptr.hpp>
#include <pgas/global_ref.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/run.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>
#include <pgas/team.hpp>
#include <pgas/user_window.hpp>
#include <pgas/window.hpp>
