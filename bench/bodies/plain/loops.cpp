// SPDX-License-Identifier: BSL-1.0
// The loops of ../loops.cpp in a plain program.
#include <cstdint>
#include <vector>

#include "bodies/quickest.hpp"

namespace {

constexpr int sweeps = 60;

void p2p(std::size_t n) {
  std::vector<double> grid(n * n);
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
}

void star(std::size_t n) {
  constexpr std::size_t radius = 2;
  constexpr double weight[] = {0, 0.25, 0.125};
  std::size_t const pitch = n + 2 * radius;
  std::vector<double> in(pitch * pitch), out(n * n);
  quickest time;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    time.start();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double const* const u = &in[(i + radius) * pitch + j + radius];
        for (std::size_t r = 1; r <= radius; ++r)
          out[i * n + j] += weight[r] * (u[r] + u[r * pitch] - *(u - r) - *(u - r * pitch));
      }
    time.stop();
  }
  time.print("star stencil");
}

void nstream(std::size_t length) {
  std::vector<double> a(length), b(length), c(length);
  quickest time;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    time.start();
    for (std::size_t i = 0; i < length; ++i) a[i] += b[i] + 3 * c[i];
    time.stop();
  }
  time.print("nstream");
}

void transpose(std::size_t n) {
  std::vector<double> a(n * n), b(n * n);
  quickest time;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    time.start();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        b[i * n + j] += a[j * n + i];
        a[j * n + i] += 1;
      }
    time.stop();
  }
  time.print("transpose");
}

void random_access(std::size_t words) {
  std::vector<std::uint64_t> table(words);
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
}

void sparse(std::size_t rows) {
  constexpr std::size_t in_row = 5;
  std::vector<double> value(rows * in_row), x(rows), y(rows);
  std::vector<std::uint32_t> column(rows * in_row);
  for (std::size_t k = 0; k < rows * in_row; ++k) column[k] = static_cast<std::uint32_t>(k * 7919 % rows);
  quickest time;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    time.start();
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t k = row * in_row; k < (row + 1) * in_row; ++k) sum += value[k] * x[column[k]];
      y[row] += sum;
    }
    time.stop();
  }
  time.print("sparse");
}

void reduce(std::size_t length) {
  std::vector<double> x(length), y(length);
  quickest time;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    time.start();
    for (std::size_t i = 0; i < length; ++i) x[i] += y[i];
    time.stop();
  }
  time.print("reduce");
}

void dgemm(std::size_t n) {
  std::vector<double> a(n * n), b(n * n), c(n * n);
  quickest time;
  for (int sweep = 0; sweep < sweeps / 4; ++sweep) {
    time.start();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    time.stop();
  }
  time.print("dgemm");
}

}  // namespace

int main() {
  std::size_t const n = unknown<std::size_t>(400);
  p2p(n);
  star(n);
  nstream(n * n);
  transpose(n);
  random_access(unknown(std::size_t{1} << 16U));
  sparse(n * 40);
  reduce(n * n);
  dgemm(n / 2);
}
