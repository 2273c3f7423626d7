// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "backends.hpp"

namespace example {

/// Replaces examples/support/network_backends.hpp: the examples that show what grows with ranks have no other
/// backends here.
using network_backends = backends;

}  // namespace example
