// expects: an epoch needs a name
// SPDX-License-Identifier: BSL-1.0
#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-value"
#include <pgas/fence_all.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto a = pgas::make_window<int>(team, 1);
    auto b = pgas::make_window<int>(team, 1);
    pgas::fence_all{a, b};
  });
}
