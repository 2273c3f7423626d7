// SPDX-License-Identifier: BSL-1.0
// matmul: c = a b by SUMMA: every rank owns a tile of each matrix and fetches panels. matmul [ORDER].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <support/backends.hpp>
#include <vector>

#include "support/arguments.hpp"

using matrix = pgas::matrix_view<double>;

/// c += a b. BLAS takes the same data: data_handle(), extent(0), extent(1), and stride(0) as leading
/// dimension.
void multiply_add(matrix c, matrix a, matrix b) {
  for (std::size_t i = 0; i < c.extent(0); ++i) {
    for (std::size_t k = 0; k < a.extent(1); ++k) {
      double const factor = a(i, k);
      for (std::size_t j = 0; j < c.extent(1); ++j) c(i, j) += factor * b(k, j);
    }
  }
}

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.size() > 1) throw std::runtime_error("usage: matmul [ORDER]");
    std::size_t const order = example::number(arguments, 0, 500);
    constexpr std::size_t width = 64;  // of a panel, which stays in the second-level cache

    pgas::tiled const tiles{pgas::block{}, pgas::block{}};
    auto const a = pgas::make_array<double>(team, {order, order}, tiles);
    auto const b = pgas::make_array<double>(team, {order, order}, tiles);
    auto const c = pgas::make_array<double>(team, {order, order}, tiles);
    pgas::for_each_index(a, [](auto const& at, double& cell) { cell = static_cast<double>(at[0] + at[1]); });
    pgas::for_each_index(b,
                         [](auto const& at, double& cell) { cell = static_cast<double>(at[0] + 2 * at[1]); });

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    {
      auto const [first, count] = c.own_box();
      std::vector<double> x(count[0] * width);
      std::vector<double> y(width * count[1]);
      pgas::fence left{a, pgas::read_only};
      pgas::fence right{b, pgas::read_only};
      auto const tile = pgas::stage(c, pgas::read_write);
      for (std::size_t k = 0; k < order;
           k += width) {  // columns of a, in the rows of the tile, and rows of b
        std::size_t const depth = std::min(width, order - k);
        left.get({{first[0], k}, {count[0], depth}}, std::span(x).first(count[0] * depth));
        right.get({{k, first[1]}, {depth, count[1]}}, std::span(y).first(depth * count[1]));
        left.flush_local_all();
        right.flush_local_all();
        multiply_add(tile.view(), {x.data(), count[0], depth}, {y.data(), depth, count[1]});
      }
    }
    team.barrier();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // The sum of (i + k) (k + 2 j) over all k, in integers.
    std::size_t const sum = order * (order - 1) / 2;
    std::size_t const squares = sum * (2 * order - 1) / 3;
    std::size_t wrong = 0;
    pgas::for_each_index(c, [&](auto const& at, double cell) {
      std::size_t const expected = squares + (at[0] + 2 * at[1]) * sum + order * at[0] * 2 * at[1];
      wrong += cell != static_cast<double>(expected) ? 1U : 0U;
    });
    wrong = team.all_reduce(wrong, pgas::op::sum{});

    if (team.rank() != 0) return;
    auto const n = static_cast<double>(order);
    std::fprintf(stderr, "matmul: %.2f GFLOP/s\n", 2 * n * n * n / passed.count() * 1e-9);
    if (wrong != 0) throw std::runtime_error("matmul: " + std::to_string(wrong) + " cells are wrong");
    std::printf("matmul: order %zu, all cells are right\n", order);
  });
}
// tools/run matmul 1000:
//   matmul: 3.45 GFLOP/s
//   matmul: order 1000, all cells are right
