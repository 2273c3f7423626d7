// expects: run: the body is called as `body\(team\)`
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [] { return 1; });
}
