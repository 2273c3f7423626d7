// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/loopback.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/backends/traced.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/machines/scc/heat_map.hpp>
#include <pgas/pgas.hpp>

/// Takes the place of examples/support/backends.hpp where `tools/run` builds an example with
/// `--pgas-trace FILE` or `--pgas-heat FILE.svg`.
namespace example {

using backends = pgas::backend_list<
    pgas::backends::traced<pgas::backends::process_map>, pgas::backends::traced<pgas::backends::thread_map>,
    pgas::backends::traced<pgas::backends::loopback>, pgas::backends::traced<pgas::backends::scc>>;
using policies = pgas::coherence_list<pgas::default_coherence, pgas::coherence::unsafe_none>;

}  // namespace example
