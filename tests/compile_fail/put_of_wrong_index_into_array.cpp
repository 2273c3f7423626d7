// expects: put: write `epoch.put\(\{i, j\}, value\)`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64});
    pgas::fence e{a};
    e.put({3, 4, 5}, 1.0);
  });
}
