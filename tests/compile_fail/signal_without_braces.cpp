// expects: signals: name the sender in braces
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

void f(pgas::team<pgas::backends::process_map>& team) {
  auto w = pgas::make_window<int>(team, 1);
  auto s = pgas::make_signals(w);
  s.wait(1);
}
