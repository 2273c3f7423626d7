// expects: run: write `pgas::run<pgas::backends::process_map>
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run(4, [](auto& team) { team.barrier(); });
}
