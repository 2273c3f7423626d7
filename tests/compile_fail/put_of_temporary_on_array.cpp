// expects: put: the source is a temporary object
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto a = pgas::make_array<int>(team, {4, 4});
    pgas::fence epoch{a};
    epoch.put({{0, 0}, {2, 2}}, std::vector{1, 2, 3, 4});
  });
}
