// expects: return a number, a std::array or a struct
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <string>

int main() {
  return static_cast<int>(
      pgas::run<pgas::backends::process_map>(2, [](auto&) { return std::string("rank 0"); }).size());
}
