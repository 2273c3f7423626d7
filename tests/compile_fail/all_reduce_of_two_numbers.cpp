// expects: all_reduce: write `team.all_reduce
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    double x = 1, y = 0;
    team.all_reduce(x, y);
  });
}
