// expects: start: the elements are a temporary object
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    std::vector<int> sums(2);
    auto const request = team.start().all_reduce(std::vector{1, 2}, sums);
  });
}
