// expects: run: with argc and argv write
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  int argc = 0;
  char** argv = nullptr;
  pgas::run<pgas::backends::process_map>(argc, argv, [](auto& team) {});
}
