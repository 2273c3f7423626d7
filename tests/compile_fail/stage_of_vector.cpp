// expects: stage: write `auto const own
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<double> v(3);
    auto u = pgas::stage(v, pgas::read_only);
  });
}
