// expects: pgas: this type is aligned to more than 128 bytes
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

struct alignas(4096) page {
  int first = 0;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) { auto w = pgas::make_window<page>(team, 1); });
}
