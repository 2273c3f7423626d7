// expects: put: write .*no std::vector<bool>
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto w = pgas::make_window<bool>(team, 10);
    std::vector<bool> v(3);
    pgas::fence e{w};
    e.put(0, 0, v);
  });
}
