// expects: pgas needs (g\+\+ 12|clang 16) or later
// standard: c++20
// errors at most: 2
// SPDX-License-Identifier: BSL-1.0
#ifdef __clang__
#undef __clang_major__
#define __clang_major__ 15
#else
#undef __GNUC__
#define __GNUC__ 11
#endif
#include <pgas/pgas.hpp>

int main() {
  return pgas::run<pgas::backends::process_map>(2, [](auto& team) { return team.size(); });
}
