// SPDX-License-Identifier: BSL-1.0
// transpose: b += a^T of the Parallel Research Kernels, by tiles. transpose [ITERATIONS] [ORDER]
#include <chrono>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>

#include "support/add_transposed.hpp"
#include "support/arguments.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: transpose [ITERATIONS] [ORDER]");
    std::size_t const iterations = example::number(arguments, 0, 10);
    std::size_t const order = example::number(arguments, 1, 500);

    auto const a = pgas::make_array<double>(team, {order, order});
    auto const b = pgas::make_array<double>(team, {order, order});
    pgas::iota(a, 0);

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < iterations; ++k) {
      example::add_transposed(a, b);
      pgas::for_each(a, [](double& cell) { cell += 1; });
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    std::size_t wrong = 0;
    pgas::for_each_index(b, [&](auto const& at, double cell) {
      std::size_t const expected = iterations * (at[1] * order + at[0]) + iterations * (iterations - 1) / 2;
      wrong += cell != static_cast<double>(expected) ? 1U : 0U;
    });
    wrong = team.all_reduce(wrong, pgas::op::sum{});

    if (team.rank() != 0) return;
    double const bytes = static_cast<double>(iterations) * static_cast<double>(a.size()) * 2 * sizeof(double);
    std::fprintf(stderr, "transpose: %.1f MB/s\n", bytes / passed.count() * 1e-6);
    if (wrong != 0) throw std::runtime_error("transpose: " + std::to_string(wrong) + " cells are wrong");
    std::printf("transpose: %zu iterations of order %zu, all cells are right\n", iterations, order);
  });
}
// tools/run transpose 10 2000:
//   transpose: 3493.7 MB/s
//   transpose: 10 iterations of order 2000, all cells are right
