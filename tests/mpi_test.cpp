// SPDX-License-Identifier: BSL-1.0
// The conformance suites on MPI: tests/meson.build builds them with each MPI, and mpirun starts them.
#include "mpi/sized_world.hpp"

#define PGAS_TEST_ONE_BACKEND pgas_test::sized_world<pgas::backends::mpi>
#include "support/launches.hpp"

template <>
struct pgas_test::bootstrap_of<PGAS_TEST_ONE_BACKEND> {
  using type = pgas::detail::mpi::rank_bootstrap;
};

#include "conformance/bootstrap.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/segment.hpp"
