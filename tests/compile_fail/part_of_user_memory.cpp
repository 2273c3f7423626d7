// expects: part: this rank cannot load from and store to other ranks' parts of this window
// errors at most: 1
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    std::vector<int> mine(10);
    auto w = pgas::make_window<int>(team, mine);
    w.part(1)[0] = 1;
  });
}
