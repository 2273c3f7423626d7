// expects: copy: write `pgas::copy\(from, to\)`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <pgas/redistribute.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64});
    auto b = pgas::make_array<float>(team, {64, 64});
    pgas::copy(a, b);
  });
}
