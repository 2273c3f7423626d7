// expects: lock: write `pgas::lock epoch\{window, rank, pgas::exclusive\};`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto w = pgas::make_window<double>(team, 10);
    pgas::lock e{w};
  });
}
