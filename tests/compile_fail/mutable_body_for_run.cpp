// expects: do not make the lambda mutable
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  int calls = 0;
  pgas::run<pgas::backends::process_map>(2, [calls](auto&) mutable { ++calls; });
}
