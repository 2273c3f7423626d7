// expects: make_array: write .*layout of as many dimensions
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64}, pgas::tiled{pgas::block{}});
  });
}
