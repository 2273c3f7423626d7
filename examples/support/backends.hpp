// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/loopback.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/backends/tile.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/pgas.hpp>

namespace example {

/// The backends on which an example can run: `--pgas-backend NAME`; the first is the default.
using backends = pgas::backend_list<pgas::backends::process_map, pgas::backends::thread_map,
                                    pgas::backends::loopback, pgas::backends::scc, pgas::backends::tile>;

/// The coherence policies: `--pgas-coherence unsafe_none` shows the effect of a program without one on
/// incoherent memory.
using policies = pgas::coherence_list<pgas::default_coherence, pgas::coherence::unsafe_none>;

}  // namespace example
