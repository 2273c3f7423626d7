// expects: fence_all: write `auto \[a, b\] = pgas::fence_all\{v, w\};`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/fence_all.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto w = pgas::make_window<double>(team, 10);
    auto [x, y] = pgas::fence_all{w, team};
  });
}
