// expects: global_array: owner takes one whole number for each dimension
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

void f(pgas::team<pgas::backends::process_map>& team) {
  auto a = pgas::make_array<double>(team, {8, 8});
  static_cast<void>(a.owner(3));
}
