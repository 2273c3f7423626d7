// SPDX-License-Identifier: BSL-1.0
// A job that only starts and ends; tools/bench times the launcher as a whole.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
