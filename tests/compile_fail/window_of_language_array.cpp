// expects: pgas: arrays of the language
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4,
                                         [](auto& team) { auto w = pgas::make_window<double[3]>(team, 3); });
}
