// SPDX-License-Identifier: BSL-1.0
// stencil: the star of radius 2 of the Parallel Research Kernels. stencil [ITERATIONS] [ORDER].
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"

constexpr std::ptrdiff_t radius = 2;

/// Own cells of a dimension with all neighbours in the plane: [first, end). Those with all neighbours on this
/// rank: [inner, inner_end).
struct range {
  std::ptrdiff_t first, inner, inner_end, end;

  range(std::size_t own_first, std::size_t own_count, std::size_t order) {
    auto const count = static_cast<std::ptrdiff_t>(own_count);
    auto const local = [&](std::size_t i) {
      return std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(i - own_first), 0, count);
    };
    first = local(radius);
    end = local(order - radius);
    inner = std::clamp(radius, first, end);
    inner_end = std::clamp(count - radius, inner, end);
  }
};

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: stencil [ITERATIONS] [ORDER]");
    std::size_t const iterations = example::number(arguments, 0, 10);
    std::size_t const order = example::number(arguments, 1, 500);
    if (order <= 2 * radius)
      throw std::runtime_error("stencil: ORDER is at least 5, or no cell has all its neighbours");

    // Each rank owns a tile of the plane. Its tile of `in` has copies of the neighbours' edges around it.
    pgas::tiled const tiles{pgas::block{}, pgas::block{}};
    pgas::halos<2> const around{pgas::halo{.width = radius}};
    auto const in = pgas::make_array<double>(team, {order, order}, tiles, around.without_corners());
    auto const out = pgas::make_array<double>(team, {order, order}, tiles);
    pgas::for_each_index(in, [](auto const& at, double& cell) { cell = static_cast<double>(at[0] + at[1]); });
    auto const own = in.own_box();
    range const rows(own.first[0], own.count[0], order);
    range const cols(own.first[1], own.count[1], order);

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < iterations; ++k) {
      {
        auto const v = pgas::stage(out, pgas::read_write);
        auto const add_star = [&](auto const& u, auto i0, auto i1, auto j0, auto j1) {
          for (auto i = i0; i < i1; ++i)
            for (auto j = j0; j < j1; ++j)
              v(i, j) += 0.25 * (u(i + 1, j) - u(i - 1, j) + u(i, j + 1) - u(i, j - 1)) +
                         0.125 * (u(i + 2, j) - u(i - 2, j) + u(i, j + 2) - u(i, j - 2));
        };
        auto edges = pgas::begin_exchange(in);  // they travel while the interior is computed
        add_star(pgas::stage(in, pgas::read_own), rows.inner, rows.inner_end, cols.inner, cols.inner_end);
        edges.finish();
        auto const u = pgas::stage(in, pgas::read_only);  // with the new ghost cells
        add_star(u, rows.first, rows.inner, cols.first, cols.end);
        add_star(u, rows.inner_end, rows.end, cols.first, cols.end);
        add_star(u, rows.inner, rows.inner_end, cols.first, cols.inner);
        add_star(u, rows.inner, rows.inner_end, cols.inner_end, cols.end);
      }
      pgas::for_each(in, [](double& cell) { cell += 1; });
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // The weights compute a slope: each iteration adds that of i + j, which is 1 in each dimension.
    double norm = 0;
    pgas::for_each(out, [&](double cell) { norm += std::abs(cell); });
    auto const active = static_cast<double>((order - 2 * radius) * (order - 2 * radius));
    norm = team.all_reduce(norm, pgas::op::sum{}) / active;

    if (team.rank() != 0) return;
    double const operations = static_cast<double>(iterations) * active * (2 * (4 * radius + 1) + 1);
    std::fprintf(stderr, "stencil: %.1f MFLOP/s\n", operations / passed.count() * 1e-6);
    std::printf("stencil: %zu iterations of order %zu, norm %.3f\n", iterations, order, norm);
    if (std::abs(norm - 2.0 * static_cast<double>(iterations)) > 1e-8)
      throw std::runtime_error("stencil: the norm is not twice the number of iterations");
  });
}
// tools/run stencil 50 2000:
//   stencil: 6543.7 MFLOP/s
//   stencil: 50 iterations of order 2000, norm 100.000
