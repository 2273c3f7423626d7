// expects: this window's lock protocol can only lock_all
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::lock epoch{w, 0, pgas::exclusive};
  });
}
