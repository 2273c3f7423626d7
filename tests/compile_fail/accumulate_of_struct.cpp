// expects: pgas: this operation is not defined for elements of this type
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    struct p {
      int x, y;
    };
    auto w = pgas::make_window<p>(team, 3);
    pgas::fence e{w};
    e.accumulate(0, 0, p{1, 2});
  });
}
