// SPDX-License-Identifier: BSL-1.0
// nstream: the triad a += b + 3 c of STREAM. nstream [ITERATIONS] [CELLS].
#include <chrono>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: nstream [ITERATIONS] [CELLS]");
    std::size_t const iterations = example::number(arguments, 0, 10);
    std::size_t const cells = example::number(arguments, 1, 1'000'000);
    constexpr double scalar = 3;

    auto const a = pgas::make_array<double>(team, cells);
    auto const b = pgas::make_array<double>(team, cells);
    auto const c = pgas::make_array<double>(team, cells);
    pgas::fill(b, 2.0);
    pgas::fill(c, 2.0);

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    {
      // Cells of one index have one owner in all three arrays, so no data moves.
      auto const to = pgas::stage(a, pgas::read_write);
      auto const x = pgas::stage(b, pgas::read_only);
      auto const y = pgas::stage(c, pgas::read_only);
      for (std::size_t k = 0; k < iterations; ++k)
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += x[i] + scalar * y[i];
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    std::size_t wrong = 0;
    auto const expected =
        static_cast<double>(iterations) * (2 + scalar * 2);  // exact, like every sum before it
    for (double const value : pgas::stage(a, pgas::read_only)) wrong += value != expected ? 1U : 0U;
    wrong = team.all_reduce(wrong, pgas::op::sum{});

    if (team.rank() != 0) return;
    double const bytes = static_cast<double>(iterations) * static_cast<double>(cells) * 4 * sizeof(double);
    std::fprintf(stderr, "nstream: %.1f MB/s\n", bytes / passed.count() * 1e-6);
    if (wrong != 0) throw std::runtime_error("nstream: " + std::to_string(wrong) + " cells are wrong");
    std::printf("nstream: %zu iterations over %zu cells, all are %g\n", iterations, cells, expected);
  });
}
// tools/run nstream 10 5000000:
//   nstream: 14525.1 MB/s
//   nstream: 10 iterations over 5000000 cells, all are 80
