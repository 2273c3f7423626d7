// expects: pgas: an operation of the program's own is a lambda
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::lock_all epoch{w};
    int calls = 0;
    epoch.accumulate(0, 0, 1, [calls](int old, int value) mutable { return ++calls + old + value; });
  });
}
