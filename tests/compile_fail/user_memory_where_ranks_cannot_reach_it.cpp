// expects: cannot reach memory that it has not allocated
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <vector>
#include "../support/incoherent/backend.hpp"

int main() {
  pgas::run<pgas_test::incoherent::backend>(2, [](auto& team) {
    std::vector<int> mine(10);
    auto w = pgas::make_window<int>(team, mine);
  });
}
