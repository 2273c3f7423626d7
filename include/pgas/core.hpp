// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Windows, epochs and locks, on the processes of one node: the library without arrays. A program that names
/// another backend, protocol, policy or distribution also includes the header of that model.
#include <pgas/vocabulary/transportable.hpp>

#include <pgas/vocabulary/op.hpp>

#include <pgas/epoch/staged.hpp>

#include <pgas/epoch/epoch.hpp>

#include <pgas/stage.hpp>
#include <pgas/team.hpp>

// Those above come first, and in this order: few lines then stand before their messages about a wrong
// program.
#include <pgas/access.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/exposure.hpp>
#include <pgas/fence.hpp>
#include <pgas/fence_all.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/options.hpp>
#include <pgas/run.hpp>
#include <pgas/signals.hpp>
#include <pgas/sync/queued.hpp>
#include <pgas/user_window.hpp>
#include <pgas/window.hpp>
