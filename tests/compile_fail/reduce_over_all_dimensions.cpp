// expects: pgas: a reduction over dimensions keeps at least one
// SPDX-License-Identifier: BSL-1.0
#include <pgas/algorithm/reduce_over.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto const a = pgas::make_array<double>(team, {4, 4});
    static_cast<void>(pgas::all_reduce(team, a, pgas::over_dimensions<0, 1>, 0.0));
  });
}
