// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/scc.hpp>
#include <pgas/backends/traced.hpp>
#include <pgas/pgas.hpp>

/// Replaces examples/traced/support/backends.hpp: the same examples, traced on two kinds of memory only.
/// ring, compiled with the header that users have, meets each backend and policy.
namespace example {

using backends = pgas::backend_list<pgas::backends::traced<pgas::backends::process_map>,
                                    pgas::backends::traced<pgas::backends::scc>>;
using policies = pgas::coherence_list<pgas::default_coherence>;

}  // namespace example
