// expects: bit_and, bit_or and bit_xor need integers
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<double>(team, 1);
    pgas::lock_all epoch{w};
    epoch.accumulate(0, 0, 1.0, pgas::op::bit_and{});
  });
}
