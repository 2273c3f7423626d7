// SPDX-License-Identifier: BSL-1.0
// matvec: y += a x, the matrix in tiles, the vectors in blocks. matvec [ITERATIONS] [ORDER].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <support/backends.hpp>
#include <vector>

#include "support/arguments.hpp"
#include "support/rows_times.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 2) throw std::runtime_error("usage: matvec [ITERATIONS] [ORDER]");
    std::size_t const iterations = example::number(arguments, 0, 10);
    std::size_t const order = example::number(arguments, 1, 1000);

    auto const a = pgas::make_array<double>(team, {order, order}, pgas::tiled{pgas::block{}, pgas::block{}});
    auto const x = pgas::make_array<double>(team, order);
    auto const y = pgas::make_array<double>(team, order);
    pgas::for_each_index(a,
                         [](auto const& at, double& cell) { cell = static_cast<double>(at[0] + 2 * at[1]); });
    pgas::iota(x, 0);

    auto const [first, count] = a.own_box();
    std::vector<double> factors(count[1]);
    std::vector<double> sums(count[0]);
    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < iterations; ++k) {
      {
        pgas::fence epoch{x, pgas::read_only};  // the elements of x for this rank's columns
        epoch.get(first[1], factors);
      }
      if (auto const tile = pgas::stage(a, pgas::read_only); true) example::rows_times(tile, factors, sums);
      pgas::fence epoch{y, pgas::write_only};  // ranks that share rows add up in the owner's block of y
      epoch.accumulate({{first[0]}, {count[0]}}, sums);
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // The sum of (i + 2 j) j over all j, in integers.
    std::size_t const sum = order * (order - 1) / 2;
    std::size_t const squares = sum * (2 * order - 1) / 3;
    std::size_t wrong = 0;
    pgas::for_each_index(y, [&](auto const& at, double cell) {
      wrong += cell != static_cast<double>(iterations * (at[0] * sum + 2 * squares)) ? 1U : 0U;
    });
    wrong = team.all_reduce(wrong, pgas::op::sum{});

    if (team.rank() != 0) return;
    double const operations = static_cast<double>(iterations) * 2 * static_cast<double>(a.size());
    std::fprintf(stderr, "matvec: %.1f MFLOP/s\n", operations / passed.count() * 1e-6);
    if (wrong != 0) throw std::runtime_error("matvec: " + std::to_string(wrong) + " elements are wrong");
    std::printf("matvec: %zu iterations of order %zu, all elements are right\n", iterations, order);
  });
}
// tools/run matvec 100 2000:
//   matvec: 1327.0 MFLOP/s
//   matvec: 100 iterations of order 2000, all elements are right
