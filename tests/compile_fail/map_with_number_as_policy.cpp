// expects: make_map: this is no policy of maps
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2,
                                         [](auto& team) { auto map = pgas::make_map<int, int, 1000>(team); });
}
