// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/pgas.hpp>

/// Takes the place of examples/support/backends.hpp where `tools/run` builds an example with `--pgas-check`.
namespace example {

using backends = pgas::backend_list<pgas::backends::checked<pgas::backends::process_map>,
                                    pgas::backends::checked<pgas::backends::thread_map>>;
using policies = pgas::coherence_list<pgas::default_coherence, pgas::coherence::unsafe_none>;

}  // namespace example
