// expects: fence_all: it holds an epoch for each window
// SPDX-License-Identifier: BSL-1.0
#include <pgas/fence_all.hpp>
#include <pgas/pgas.hpp>

void f(pgas::team<pgas::backends::process_map>& team) {
  auto v = pgas::make_window<int>(team, 1);
  auto w = pgas::make_window<int>(team, 1);
  pgas::fence_all both{v, w};
  both.put(0, 0, 1);
}
