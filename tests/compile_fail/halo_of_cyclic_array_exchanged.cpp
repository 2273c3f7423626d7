// expects: exchange_halo: write .*not a cyclic one
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/distributions/cyclic.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64}, pgas::cyclic{});
    pgas::exchange_halo(a);
  });
}
