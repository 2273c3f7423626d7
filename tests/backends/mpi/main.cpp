// SPDX-License-Identifier: BSL-1.0
// All processes run all cases, and each fails when one fails. The first one reports.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "../../support/agreed.hpp"
#include "sized_world.hpp"

int main(int argc, char** argv) {
  pgas::detail::mpi::session::begin();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &pgas_test::processes);
  pgas_test::agreed = [](bool answer) {
    MPI_Bcast(&answer, sizeof answer, MPI_BYTE, 0, MPI_COMM_WORLD);
    return answer;
  };
  doctest::Context context(argc, argv);
  if (rank != 0) {
    context.setOption("out", "/dev/null");
    std::cout.setstate(std::ios::failbit);
  }
  return context.run();
}
