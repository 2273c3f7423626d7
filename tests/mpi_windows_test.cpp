// SPDX-License-Identifier: BSL-1.0
// Windows, epochs, atomic operations, halos and random programs on MPI; see mpi_test.cpp.
#include "mpi/sized_world.hpp"

#define PGAS_TEST_ONE_COHERENT_BACKEND pgas_test::sized_world<pgas::backends::mpi>
#define PGAS_TEST_BOOTSTRAP pgas::detail::mpi::rank_bootstrap
#include "atomics_test.cpp"
#include "epoch_test.cpp"
#include "halo_test.cpp"
#include "random_programs_test.cpp"
#include "window_test.cpp"
