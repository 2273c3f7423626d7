// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/pgas.hpp>

namespace example {

/// The default backend alone, for `tools/run NAME`: a program of all backends takes four times as long to
/// compile.
using backends = pgas::backend_list<pgas::backends::process_map>;
using policies = pgas::coherence_list<pgas::default_coherence>;

}  // namespace example
