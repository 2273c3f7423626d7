// expects: all_gather: write `team.all_gather\(elements, all\)`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<int> mine(3);
    auto all = team.all_gather(mine);
  });
}
