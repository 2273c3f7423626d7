// expects: make_window: write `pgas::make_window<double>\(team, n\)`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto w = pgas::make_window<double>(team, {3, 4});
  });
}
