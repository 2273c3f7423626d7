// expects: all_gather: write .*std::vector<bool> is no such range
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<bool> mine(3), all(12);
    team.all_gather(mine, all);
  });
}
