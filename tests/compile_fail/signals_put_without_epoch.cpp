// expects: signals: write `signals.put\(epoch
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto w = pgas::make_window<double>(team, 10);
    auto s = pgas::make_signals(w);
    s.put(0, 0, 1.0);
  });
}
