// expects: put: the source is a temporary object
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 4);
    pgas::fence epoch{w};
    epoch.put(0, 0, std::vector{1, 2});
  });
}
