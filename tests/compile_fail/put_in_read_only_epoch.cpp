// expects: this epoch was opened read_only
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::fence epoch{w, pgas::read_only};
    epoch.put(0, 0, 1);
  });
}
