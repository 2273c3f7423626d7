// SPDX-License-Identifier: BSL-1.0
// What goes wrong in a program on MPI, by name: see failures_test.py.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pgas/mpi.hpp>
#include <pgas/pgas.hpp>
#include <stdexcept>
#include <string_view>

namespace {

using backend = pgas::backends::PGAS_TEST_MPI_BACKEND;

/// Rank 1 goes wrong while the others wait for it.
void go_wrong(std::string_view how) {
  if (how == "throw") throw std::runtime_error("the tea is cold");
  if (how == "kill") ::raise(SIGKILL);
  if (how == "exit") std::exit(0);
  if (how == "leave") ::_exit(0);
}

/// Each rank waits for a post of the next one, which does not come.
template <class Team>
void wait_in_a_ring(Team& team) {
  auto w = pgas::make_window<int>(team, 1);
  int const next = (team.rank() + 1) % team.size();
  pgas::access epoch{w, {next}};
  epoch.put(next, 0, 1);
}

/// The even processes work together; MPI and the library take turns on them, and on memory of MPI.
void live_together(int rank) {
  MPI_Comm even = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &even);
  if (even == MPI_COMM_NULL) return;
  int const sum = pgas::mpi::run<backend>(even, [](auto& team) {
    int* memory = nullptr;
    MPI_Alloc_mem(sizeof(int), MPI_INFO_NULL, static_cast<void*>(&memory));
    *memory = 0;
    int total = 0;
    {
      auto w = pgas::make_window(team, std::span(memory, 1));
      {
        pgas::fence epoch{w};
        epoch.put((team.rank() + 1) % team.size(), 0, team.rank() + 1);
      }
      MPI_Comm ranks = pgas::mpi::communicator(team);
      MPI_Allreduce(memory, &total, 1, MPI_INT, MPI_SUM, ranks);
      MPI_Comm_free(&ranks);
    }
    team.barrier();
    MPI_Free_mem(memory);
    return total;
  });
  if (rank == 0) std::printf("together %d\n", sum);
  MPI_Comm_free(&even);
}

}  // namespace

int main(int, char** argv) {
  std::string_view const how(argv[1]);
  bool const has_begun = how == "own" || how == "together";  // the program has its own MPI
  if (has_begun) MPI_Init(nullptr, nullptr);
  try {
    int const sum = pgas::run<backend>([how](auto& team) {
      if (how == "ring") wait_in_a_ring(team);
      if (team.rank() == 1) go_wrong(how);
      return team.all_reduce(team.rank());
    });
    std::printf("sum %d\n", sum);
    if (how == "again") {
      std::printf("again %d\n", pgas::run<backend>([](auto& team) { return team.all_reduce(1); }));
    }
  } catch (pgas::error const& e) {
    std::fprintf(stderr, "caught: %s\n", e.what());
    return 3;
  }
  if (!has_begun) return 0;
  int ranks = 0;
  int const one = 1;
  MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("MPI still counts %d\n", ranks);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  live_together(rank);
  MPI_Finalize();
}
