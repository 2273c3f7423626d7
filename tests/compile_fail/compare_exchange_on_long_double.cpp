// expects: compare_exchange: it compares bytes
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<long double>(team, 1);
    pgas::lock_all epoch{w};
    long double expected = 0;
    return epoch.compare_exchange(0, 0, expected, 1);
  });
}
