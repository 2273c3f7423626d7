// expects: pgas: this type holds an address, which means nothing on another rank
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <string_view>

int main() {
  pgas::run<pgas::backends::process_map>(
      2, [](auto& team) { auto w = pgas::make_window<std::string_view>(team, 1); });
}
