// expects: map: equal keys of this type may differ in bytes; give the map traits with a hash
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/make_map_on.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

struct person {
  char initial = 0;
  int number = 0;
  friend bool operator==(person const&, person const&) = default;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map_on<pgas::maps::part_simple, person, int>(team);
    map.serve();
  });
}
