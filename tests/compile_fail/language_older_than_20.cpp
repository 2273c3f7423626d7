// expects: pgas needs C\+\+20: compile with -std=c\+\+20
// standard: c++17
// errors at most: 2
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  return pgas::run<pgas::backends::process_map>(2, [](auto& team) { return team.size(); });
}
