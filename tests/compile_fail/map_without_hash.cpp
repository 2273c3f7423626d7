// expects: make_map: keys need a hash and an equality
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/pgas.hpp>

struct place {
  int row = 0;
  int column = 0;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) { auto map = pgas::make_map<place, int>(team); });
}
