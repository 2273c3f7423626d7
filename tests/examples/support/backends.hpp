// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/pgas.hpp>

#include "../../support/incoherent/backend.hpp"

/// Replaces examples/support/backends.hpp: the same examples, on the deliberately incoherent backend.
namespace example {

using backends = pgas::backend_list<pgas_test::incoherent::backend>;
using policies = pgas::coherence_list<pgas::default_coherence>;

}  // namespace example
