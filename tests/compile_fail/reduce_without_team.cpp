// expects: reduce: write `pgas::reduce\(team, array, 0.0\)`
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/algorithm/reduce.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64});
    double s = pgas::reduce(a, 0.0);
  });
}
