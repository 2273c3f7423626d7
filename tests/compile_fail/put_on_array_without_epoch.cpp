// expects: global_array: put needs an open epoch
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto a = pgas::make_array<int>(team, {4, 4});
    std::array<int, 4> values{};
    a.put({{0, 0}, {1, 4}}, values);
  });
}
