// SPDX-License-Identifier: BSL-1.0
// Loops of the Parallel Research Kernels on one rank, after their published descriptions, in the body of a
// program. plain/loops.cpp has the same loops without the library.
#include <cstdint>
#include <pgas/pgas.hpp>

#include "bodies/quickest.hpp"

int main() {
  std::size_t const n = unknown<std::size_t>(400);
  constexpr int sweeps = 60;
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto window = pgas::make_window<double>(team, n * n);
    auto const grid = window.local();
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      for (std::size_t i = 1; i < n; ++i)
        for (std::size_t j = 1; j < n; ++j)
          grid[i * n + j] = grid[(i - 1) * n + j] + grid[i * n + j - 1] - grid[(i - 1) * n + j - 1];
      grid[0] = -grid[n * n - 1];
      time.stop();
    }
    time.print("p2p");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    constexpr std::size_t radius = 2;
    constexpr double weight[] = {0, 0.25, 0.125};
    auto in = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = radius});
    auto out = pgas::make_array<double>(team, {n, n});
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      pgas::exchange_halo(in);
      time.start();
      auto const u = pgas::stage(in, pgas::read_only);
      auto const v = pgas::stage(out, pgas::read_write);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t r = 1; r <= radius; ++r)
            v(i, j) += weight[r] * (u(i, j + r) + u(i + r, j) - u(i, j - r) - u(i - r, j));
      time.stop();
    }
    time.print("star stencil");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto a = pgas::make_array<double>(team, {n * n});
    auto b = pgas::make_array<double>(team, {n * n});
    auto c = pgas::make_array<double>(team, {n * n});
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      auto const x = a.local();
      auto const y = b.local();
      auto const z = c.local();
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i] + 3 * z[i];
      time.stop();
    }
    time.print("nstream");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto from = pgas::make_array<double>(team, {n, n});
    auto to = pgas::make_array<double>(team, {n, n});
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      auto const a = pgas::stage(from, pgas::read_write);
      auto const b = pgas::stage(to, pgas::read_write);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          b(i, j) += a(j, i);
          a(j, i) += 1;
        }
      time.stop();
    }
    time.print("transpose");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    std::size_t const words = unknown(std::size_t{1} << 16U);
    auto window = pgas::make_window<std::uint64_t>(team, words);
    auto const table = window.local();
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      std::uint64_t random = 1;
      for (std::size_t i = 0; i < 4 * words; ++i) {
        random = (random << 1U) ^ ((random >> 63U) * 7);
        table[random & (words - 1)] ^= random;
      }
      time.stop();
    }
    time.print("random");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    constexpr std::size_t in_row = 5;
    std::size_t const rows = n * 40;
    auto values = pgas::make_window<double>(team, rows * in_row);
    auto columns = pgas::make_window<std::uint32_t>(team, rows * in_row);
    auto vector = pgas::make_window<double>(team, rows);
    auto result = pgas::make_window<double>(team, rows);
    for (std::size_t k = 0; k < rows * in_row; ++k)
      columns.local()[k] = static_cast<std::uint32_t>(k * 7919 % rows);
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      auto const value = values.local();
      auto const column = columns.local();
      auto const x = vector.local();
      auto const y = result.local();
      for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (std::size_t k = row * in_row; k < (row + 1) * in_row; ++k) sum += value[k] * x[column[k]];
        y[row] += sum;
      }
      time.stop();
    }
    time.print("sparse");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto first = pgas::make_array<double>(team, {n * n});
    auto second = pgas::make_array<double>(team, {n * n});
    quickest time;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      time.start();
      auto const x = pgas::stage(first, pgas::read_write);
      auto const y = pgas::stage(second, pgas::read_only);
      for (std::size_t i = 0; i < n * n; ++i) x[i] += y[i];
      time.stop();
    }
    time.print("reduce");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    std::size_t const side = n / 2;
    auto left = pgas::make_array<double>(team, {side, side});
    auto right = pgas::make_array<double>(team, {side, side});
    auto product = pgas::make_array<double>(team, {side, side});
    quickest time;
    for (int sweep = 0; sweep < sweeps / 4; ++sweep) {
      time.start();
      auto const a = pgas::stage(left, pgas::read_only);
      auto const b = pgas::stage(right, pgas::read_only);
      auto const c = pgas::stage(product, pgas::read_write);
      for (std::size_t i = 0; i < side; ++i)
        for (std::size_t k = 0; k < side; ++k)
          for (std::size_t j = 0; j < side; ++j) c(i, j) += a(i, k) * b(k, j);
      time.stop();
    }
    time.print("dgemm");
  });
}
