// SPDX-License-Identifier: BSL-1.0
// A job that only starts and ends; tools/bench times the whole process.
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) { team.barrier(); });
  return 0;
}
