// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The front door: arrays with halos, windows, epochs and locks, on the processes of one node. core.hpp is
/// the same without arrays. The other headers of this folder, and those in algorithm/ and files/, each add
/// what their name says. async/async.hpp adds tasks, what they await, and calls of other ranks.
#include <pgas/vocabulary/transportable.hpp>

#include <pgas/vocabulary/op.hpp>

#include <pgas/epoch/staged.hpp>

#include <pgas/epoch/epoch.hpp>

#include <pgas/array/accesses.hpp>

#include <pgas/stage.hpp>
#include <pgas/team.hpp>

// Those above come first, and in this order: few lines then stand before their messages about a wrong
// program.
#include <pgas/core.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/global_array.hpp>
