// SPDX-License-Identifier: BSL-1.0
#pragma once

// The suites run on one backend of MPI, which the build names: `mpi` or `cluster`.
#include <pgas/backends/cluster.hpp>
#include <pgas/backends/mpi.hpp>

#include "sized_world.hpp"

#define PGAS_TEST_ONE_BACKEND pgas_test::sized_world<pgas::backends::PGAS_TEST_MPI_BACKEND>
#include "../../support/launches.hpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);

template <>
struct pgas_test::bootstrap_of<PGAS_TEST_ONE_BACKEND> {
  using type = pgas::detail::PGAS_TEST_MPI_BACKEND::rank_bootstrap;
};
