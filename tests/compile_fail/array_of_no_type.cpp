// expects: make_array: write `pgas::make_array<double>
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) { auto a = pgas::make_array(team, {64, 64}); });
}
