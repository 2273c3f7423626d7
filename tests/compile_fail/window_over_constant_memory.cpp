// expects: pgas: ranks cannot put to constant memory
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    std::vector<int> const mine(10);
    auto w = pgas::make_window(team, std::span(mine));
  });
}
