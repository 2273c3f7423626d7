// SPDX-License-Identifier: BSL-1.0
// heat3d: heat in a cube with cold walls, on boxes of a grid of ranks. heat3d [STEPS] [SIDE].
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stencil.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"

/// A cell and its six neighbours.
using star = pgas::stencil<pgas::offset<0, 0, 0>, pgas::offset<-1, 0, 0>, pgas::offset<1, 0, 0>,
                           pgas::offset<0, -1, 0>, pgas::offset<0, 1, 0>, pgas::offset<0, 0, -1>,
                           pgas::offset<0, 0, 1>>;

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: heat3d [STEPS] [SIDE]");
    std::size_t const steps = example::number(arguments, 0, 100);
    std::size_t const side = example::number(arguments, 1, 64);
    if (side < 3) throw std::runtime_error("heat3d: SIDE is at least 3, or there is no room for the waves");
    constexpr double rate = 0.1;

    // Each rank owns a box of the cube, with copies of its neighbours' faces around it. Walls stay at 0.
    pgas::tiled const boxes{pgas::block{}, pgas::block{}, pgas::block{}};
    pgas::halos<3> const around{pgas::halo{.width = 1}};
    auto now = pgas::make_array<double>(team, {side, side, side}, boxes, around.without_corners());
    auto next = pgas::make_array<double>(team, {side, side, side}, boxes, around.without_corners());

    // One, two and three half waves along the dimensions.
    double const step = std::numbers::pi / static_cast<double>(side + 1);
    auto const wave = [&](auto const& at) {
      double product = 1;
      for (std::size_t d = 0; d < 3; ++d)
        product *= std::sin(step * static_cast<double>((d + 1) * (at[d] + 1)));
      return product;
    };
    pgas::for_each_index(now, [&](auto const& at, double& cell) { cell = wave(at); });

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < steps; ++k) {
      // Cells that need no other rank's cells are computed while the faces travel.
      star::apply(now, next,
                  [](double u, double left, double right, double front, double back, double low,
                     double high) { return u + rate * (left + right + front + back + low + high - 6 * u); });
      std::swap(now, next);
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // Waves keep their shape: a step multiplies all cells by one number.
    double factor = 1;
    for (int d = 1; d <= 3; ++d) factor += 2 * rate * (std::cos(step * d) - 1);
    double const left = std::pow(factor, static_cast<double>(steps));
    double error = 0;
    pgas::for_each_index(
        now, [&](auto const& at, double cell) { error = std::max(error, std::abs(cell - left * wave(at))); });
    error = team.all_reduce(error, pgas::op::max{});

    if (team.rank() != 0) return;
    double const cells = static_cast<double>(steps) * static_cast<double>(now.size());
    std::fprintf(stderr, "heat3d: %.1f million cells/s\n", cells / passed.count() * 1e-6);
    std::printf("heat3d: %zu steps of %zu^3 cells, %.6f of the heat is left, largest error %.0e\n", steps,
                side, left, error);
    if (!(error < 1e-12)) throw std::runtime_error("heat3d: the error is larger than rounding makes it");
  });
}
// tools/run heat3d 100 200:
//   heat3d: 327.5 million cells/s
//   heat3d: 100 steps of 200^3 cells, 0.966377 of the heat is left, largest error 2e-15
