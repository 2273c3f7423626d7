// SPDX-License-Identifier: BSL-1.0
// Runs a loop 1151 times before run, and another one 1237 times in each of three ranks.
#include <pgas/core.hpp>

extern "C" [[gnu::noinline]] int count_before(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i % 5;
  return sum;
}
extern "C" [[gnu::noinline]] int count_in_rank(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i % 3;
  return sum;
}

int main() {
  int const before = count_before(1151);
  int const in_rank = pgas::run<pgas::backends::process_map>(3, [](auto& team) {
    int const sum = count_in_rank(1237);
    team.barrier();
    return sum;
  });
  return before == 2300 && in_rank == 1236 ? 0 : 1;
}
