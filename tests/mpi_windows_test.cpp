// SPDX-License-Identifier: BSL-1.0
// Windows, epochs, atomic operations, halos and random programs on MPI; see mpi_test.cpp.
#include "mpi/sized_world.hpp"

#define PGAS_TEST_ONE_BACKEND pgas_test::sized_world<pgas::backends::mpi>
#include "support/launches.hpp"

template <>
struct pgas_test::bootstrap_of<PGAS_TEST_ONE_BACKEND> {
  using type = pgas::detail::mpi::rank_bootstrap;
};

#include "atomics_test.cpp"
#include "conformance/random_programs.hpp"
#include "epoch_test.cpp"
#include "halo_test.cpp"
#include "window_test.cpp"

TEST_CASE("random programs give byte-equal values and memory on MPI, and in a serial run") {
  pgas_test::random_programs::play_on<pgas_test::all_models>();
}
