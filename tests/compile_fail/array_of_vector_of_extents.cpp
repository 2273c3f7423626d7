// expects: make_array: write `pgas::make_array<double>
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    std::vector<std::size_t> e{64, 64};
    auto a = pgas::make_array<double>(team, e);
  });
}
