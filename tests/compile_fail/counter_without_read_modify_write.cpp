// expects: take make_striped_counter, which needs none
// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/pool_map.hpp>
#include <pgas/containers/counter.hpp>
#include <pgas/core.hpp>

int main() {
  pgas::run<pgas::backends::pool_map>(2, [](auto& team) { auto count = pgas::make_counter(team); });
}
