// expects: a map of messages has no operation that reads and writes in one step
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::rep_sc>(team);
    map.insert_or_accumulate(1, 1);
    map.serve();
  });
}
