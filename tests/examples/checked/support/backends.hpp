// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/pgas.hpp>

/// Replaces examples/support/backends.hpp: the same examples, on a backend that reports races.
namespace example {

using backends = pgas::backend_list<pgas::backends::checked<pgas::backends::process_map>>;
using policies = pgas::coherence_list<pgas::default_coherence>;

}  // namespace example
