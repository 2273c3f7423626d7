// expects: all_reduce: write .*an operation behind it that the type has
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    struct p {
      int x, y;
    };
    auto s = team.all_reduce(p{1, 2});
  });
}
