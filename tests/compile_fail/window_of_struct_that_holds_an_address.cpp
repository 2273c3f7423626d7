// expects: pgas: this type holds an address, which means nothing on another rank
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

struct view {
  int* first;
};
template <>
inline constexpr bool pgas::holds_address<view> = true;

int main() {
  pgas::run<pgas::backends::process_map>(
      2, [](auto& team) { auto w = pgas::make_window<std::array<view, 2>>(team, 1); });
}
