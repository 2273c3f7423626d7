// expects: with the policy `counting` a value is one atomic element
// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(
      2, [](auto& team) { auto map = pgas::make_map<int, std::array<int, 3>, pgas::counting>(team); });
}
