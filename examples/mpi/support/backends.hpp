// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/cluster.hpp>
#include <pgas/backends/mpi.hpp>
#include <pgas/pgas.hpp>

/// Takes the place of examples/support/backends.hpp in the programs for MPI, `NAME_mpich` and `NAME_openmpi`.
namespace example {

using backends = pgas::backend_list<pgas::backends::cluster, pgas::backends::mpi>;
using policies = pgas::coherence_list<pgas::default_coherence>;

}  // namespace example
