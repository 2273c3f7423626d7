// SPDX-License-Identifier: BSL-1.0
// The rows of heat.cpp by messages of MPI.
#include "mpi_stencil.hpp"

int main(int argc, char** argv) {
  return bench::mpi::run<bench::mpi::heat_rows<bench::mpi::send_and_receive>>(argc, argv);
}
