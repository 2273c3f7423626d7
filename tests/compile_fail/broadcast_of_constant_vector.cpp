// expects: broadcast: elements are filled on each rank
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<int> const v(3);
    team.broadcast(v, 0);
  });
}
