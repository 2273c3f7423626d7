// expects: for_each: write `pgas::for_each
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64});
    pgas::for_each(team, a, [](double& x) { x = 1; });
  });
}
