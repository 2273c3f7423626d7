// expects: success
// SPDX-License-Identifier: BSL-1.0
// A right program next to the wrong ones: a broken set-up would refuse this one too.
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::fence epoch{w};
    epoch.put(0, 0, 1);
  });
}
