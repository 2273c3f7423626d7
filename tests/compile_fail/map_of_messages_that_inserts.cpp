// expects: insert: a map of messages does not tell whether a key was absent
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::part_simple>(team);
    map.insert(1, 1);
    map.serve();
  });
}
