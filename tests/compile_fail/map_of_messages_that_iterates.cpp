// expects: for_each_own: keys of a map of messages are at its servers or on all ranks
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::rep_local>(team);
    map.for_each_own([](int, int) {});
    map.serve();
  });
}
