// expects: invalid use of member function|reference to non-static member function must be called
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    if (team.rank == 0) std::puts("x");
  });
}
