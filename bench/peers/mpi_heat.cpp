// SPDX-License-Identifier: BSL-1.0
// The rows of heat.cpp by MPI's one-sided operations.
#include "mpi_stencil.hpp"

int main(int argc, char** argv) {
  return bench::mpi::run<bench::mpi::heat_rows<bench::mpi::put_and_fence>>(argc, argv);
}
