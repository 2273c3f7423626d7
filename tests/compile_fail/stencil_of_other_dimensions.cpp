// expects: stencil: write `stencil.apply
// lines before at most: 8
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <pgas/stencil.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(4, [](auto& team) {
    auto a = pgas::make_array<double>(team, {64, 64});
    auto b = pgas::make_array<double>(team, {64, 64}, pgas::halo{.width = 1});
    constexpr pgas::stencil<pgas::offset<-1>, pgas::offset<1>> s;
    s.apply(b, b, [](double l, double r) { return l + r; });
  });
}
