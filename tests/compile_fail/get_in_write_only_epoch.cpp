// expects: this epoch was opened write_only
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::access epoch{w, {0}, pgas::write_only};
    static_cast<void>(epoch.get(0, 0));
  });
}
