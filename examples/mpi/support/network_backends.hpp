// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <support/backends.hpp>

/// Takes the place of examples/support/network_backends.hpp in the programs for MPI, whose networks are real.
namespace example {

using network_backends = backends;

}  // namespace example
