// expects: map: equal keys of this type may differ in bytes; give the map traits with a hash
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

struct person {
  char initial = 0;
  int number = 0;
  friend bool operator==(person const&, person const&) = default;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<person, int, pgas::part_simple>(team);
    map.serve();
  });
}
