// SPDX-License-Identifier: BSL-1.0
// Rank 1 takes local variables of so many bytes at once: stacks BACKEND BYTES
#include <cstdio>
#include <cstdlib>
#include <pgas/backends/scc.hpp>
#include <pgas/backends/simulated.hpp>
#include <pgas/backends/tile.hpp>
#include <pgas/core.hpp>
#include <string_view>

[[gnu::noinline]] char take(std::size_t bytes) {
  auto volatile* const lowest = static_cast<char volatile*>(__builtin_alloca(bytes));
  *lowest = 1;
  return *lowest;
}

int main(int /*argc*/, char** argv) {
  std::string_view const backend = argv[1];
  std::size_t const bytes = std::strtoull(argv[2], nullptr, 10);
  auto const body = [bytes](auto& team) {
    int const taken = team.rank() == 1 ? take(bytes) : 0;
    return team.all_reduce(taken);
  };
  int sum = 0;
  if (backend == "scc") sum = pgas::run<pgas::backends::scc>(3, body);
  if (backend == "tile") sum = pgas::run<pgas::backends::tile>(3, body);
  if (backend == "simulated") sum = pgas::run<pgas::backends::simulated>(3, body);
  std::printf("sum %d\n", sum);
}
