// expects: pgas reports errors by exceptions
// standard: c++20
// errors at most: 2
// SPDX-License-Identifier: BSL-1.0
#undef __cpp_exceptions
#include <pgas/pgas.hpp>

int main() {
  return pgas::run<pgas::backends::process_map>(2, [](auto& team) { return team.size(); });
}
