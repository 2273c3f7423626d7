// expects: make_map: each part of a map of messages makes its own hash and equality
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

struct seeded {
  std::size_t seed = 0;
  std::size_t operator()(int key) const noexcept { return seed + static_cast<std::size_t>(key); }
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::part_simple>(team, {}, seeded{7});
    map.serve();
  });
}
