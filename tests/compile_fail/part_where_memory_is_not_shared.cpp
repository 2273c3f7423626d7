// expects: part: this rank cannot load from and store to other ranks' parts of this window
// errors at most: 1
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include "../support/incoherent/backend.hpp"

int main() {
  pgas::run<pgas_test::incoherent::backend>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    w.part(1)[0] = 1;
  });
}
