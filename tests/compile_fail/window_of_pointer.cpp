// expects: pgas: this type holds an address, which means nothing on another rank
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) { auto w = pgas::make_window<int*>(team, 1); });
}
