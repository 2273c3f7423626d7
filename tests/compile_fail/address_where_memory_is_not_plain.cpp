// expects: local: this rank's part is not plain memory, so its elements have no addresses
// errors at most: 1
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include "../support/incoherent/backend.hpp"

int main() {
  pgas::run<pgas_test::incoherent::backend>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    *w.local(w.pointer(0, 0)) = 1;
  });
}
