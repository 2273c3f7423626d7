// expects: cannot convert|no viable conversion
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::lock_all epoch{w};
    int value = epoch[w.pointer(0, 0)];
    static_cast<void>(value);
  });
}
