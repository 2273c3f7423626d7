// expects: pass a lambda or a function object
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <pgas/stencil.hpp>

double mean(double left, double right) { return (left + right) / 2; }

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto now = pgas::make_array<double>(team, {8}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {8}, pgas::halo{.width = 1});
    pgas::stencil<pgas::offset<-1>, pgas::offset<1>>::apply(now, next, mean);
  });
}
