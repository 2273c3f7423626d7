// expects: make_map: this policy needs messages, and the backend has neither a channel nor a mailbox
// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/self.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::self>(1, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::part_simple>(team, {.servers = {.number = 1}});
  });
}
