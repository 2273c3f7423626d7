// SPDX-License-Identifier: BSL-1.0
// hello_ranks: each rank prints its number, and all ranks add up their numbers.
#include <cstdio>
#include <pgas/backends/loopback.hpp>
#include <pgas/backends/self.hpp>
#include <pgas/pgas.hpp>

using backends = pgas::backend_list<pgas::backends::process_map, pgas::backends::thread_map,
                                    pgas::backends::loopback, pgas::backends::self>;

int main(int argc, char** argv) {
  return pgas::run<backends>(argc, argv, [](auto& team) {
    // Ranks print in turn, so that their lines do not mix.
    for (int turn = 0; turn < team.size(); ++turn) {
      if (turn == team.rank()) {
        std::printf("hello from rank %d of %d\n", team.rank(), team.size());
        std::fflush(stdout);
      }
      team.barrier();
    }
    int const sum = team.all_reduce(team.rank(), pgas::op::sum{});
    if (team.rank() == 0) std::printf("the ranks add up to %d\n", sum);
  });
}
// With --pgas-ranks 3:
//   hello from rank 0 of 3
//   hello from rank 1 of 3
//   hello from rank 2 of 3
//   the ranks add up to 3
