// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The front door: arrays with halos, windows, epochs and locks, on the processes of one node.
/// core.hpp is the same without arrays. Headers beside this one, and in algorithm/ and files/, add what they name.
#include <pgas/core.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/global_array.hpp>
