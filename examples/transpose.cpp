// SPDX-License-Identifier: BSL-1.0
// transpose: the Parallel Research Kernels' b += a^T, by tiles that fit the first cache. transpose [ITERATIONS]
// [ORDER].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/array_stage.hpp>
#include <pgas/pgas.hpp>
#include <pgas/visit_box.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: transpose [ITERATIONS] [ORDER]");
    std::size_t const iterations = example::number(arguments, 0, 10);
    std::size_t const order = example::number(arguments, 1, 500);
    constexpr std::size_t side = 32;  // of a tile: it stays in the first cache, beside where it is added

    auto const a = pgas::make_array<double>(team, {order, order});
    auto const b = pgas::make_array<double>(team, {order, order});
    pgas::iota(a, 0);
    auto const [first, count] = b.own_box();

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < iterations; ++k) {
      {
        pgas::fence epoch{a, pgas::read_only};
        auto const sum = pgas::stage<pgas::update>(b);
        // What belongs here is across the diagonal, with whoever owns it there: read where it is, if it can be.
        pgas::visit_box(a, epoch, {{0, first[0]}, {order, count[0]}}, [&](auto const& at, auto const& cells) {
          auto const [rows, cols] = at.count;
          std::size_t const row = at.first[1] - first[0];
          for (std::size_t i = 0; i < cols; i += side)
            for (std::size_t j = 0; j < rows; j += side)
              for (std::size_t r = i; r < std::min(i + side, cols); ++r) {
                double* __restrict const to = &sum(row + r, at.first[0]);  // what is read lies elsewhere
                for (std::size_t c = j; c < std::min(j + side, rows); ++c) to[c] += cells(c, r);
              }
        });
      }
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
