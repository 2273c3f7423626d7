// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/loopback.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/pgas.hpp>

namespace example {

/// Where an example can run: `--pgas-backend NAME`, the first unless told otherwise.
using backends = pgas::backend_list<pgas::backends::process_map, pgas::backends::thread_map, pgas::backends::loopback,
                                    pgas::backends::scc>;

/// With which coherence policy: `--pgas-coherence unsafe_none` shows what becomes of a program without any, where
/// memory is not coherent by itself.
using policies = pgas::coherence_list<pgas::default_coherence, pgas::coherence::unsafe_none>;

}  // namespace example
