// expects: map: a message of this channel has no room for such a key and value; take smaller types
// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<int, std::array<char, 100'000>, pgas::part_simple>(team);
    map.serve();
  });
}
