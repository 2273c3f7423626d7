// SPDX-License-Identifier: BSL-1.0
// Windows, epochs, atomic operations, collectives, halos and random programs on MPI; see mpi_test.cpp.
// test: mpirun
#include "one_backend.hpp"

#include "array/halo/halo_test.cpp"
#include "conformance/collective.hpp"
#include "conformance/random_programs.hpp"
#include "eight_ranks.hpp"
#include "files_test.hpp"
#include "nodes_test.hpp"
#include "window/atomics_test.cpp"
#include "window/epoch_test.cpp"
#include "window/window_test.cpp"

TEST_CASE("random programs give byte-equal values and memory on MPI, and in a serial run") {
  pgas_test::random_programs::play_on<pgas_test::all_models>();
}
