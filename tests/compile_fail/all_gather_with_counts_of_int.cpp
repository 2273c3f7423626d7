// expects: all_gather: write .*counts are std::size_t
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<int> mine(3), all(12), counts{3, 3, 3, 3};
    team.all_gather(mine, all, counts);
  });
}
