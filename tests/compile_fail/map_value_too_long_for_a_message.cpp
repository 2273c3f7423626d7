// expects: map: a message of this channel has no room for such a key and value; take smaller types
// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <pgas/containers/make_map_on.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map_on<pgas::maps::part_simple, int, std::array<char, 100'000>>(team);
    map.serve();
  });
}
