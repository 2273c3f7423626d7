// expects: put: the source is a temporary object
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <pgas/signals.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 4);
    pgas::fence epoch{w};
    auto s = pgas::make_signals(w);
    s.put(epoch, 0, 0, std::vector{1, 2});
  });
}
