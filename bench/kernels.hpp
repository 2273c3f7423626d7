// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../examples/support/nas_cg.hpp"
#include "shapes.hpp"

/// The kernels of examples/ for kernels.cpp and its peers: sizes, and the common loops.
namespace bench {

/// RandomAccess: each rank xors its own random numbers into the places of a table that the numbers name.
namespace gups {

inline constexpr std::size_t words = std::size_t{1} << 22U;
/// The number of updates that a rank may have under way, as HPC Challenge defines it.
inline constexpr std::size_t under_way = 1024;

inline std::uint64_t next(std::uint64_t x) { return (x << 1U) ^ ((x >> 63U) != 0 ? 7U : 0U); }
inline std::uint64_t first_of(int rank) { return 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(rank + 1); }

inline row_key key(int ranks) {
  return {.row = "gups",
          .mode = std::to_string(words * 8 / mib) + " MiB",
          .bytes = 8,
          .per_call = static_cast<double>(under_way) * ranks,
          .unit = "op/s"};
}

/// The hand-written version: xor in one table.
[[gnu::noinline]] inline std::uint64_t update(std::uint64_t* table, std::uint64_t x) {
  for (std::size_t k = 0; k < under_way; ++k) {
    x = next(x);
    std::atomic_ref<std::uint64_t>(table[x % words]).fetch_xor(x, std::memory_order_relaxed);
  }
  return x;
}

}  // namespace gups

/// The star of radius 2 of the Parallel Research Kernels. After it, the input grows by 1.
namespace star {

inline constexpr std::array<std::size_t, 2> orders{512, 2048};
inline constexpr std::size_t radius = 2;

inline row_key key(std::size_t order) {
  auto const active = static_cast<double>((order - 2 * radius) * (order - 2 * radius));
  return {.row = "stencil",
          .mode = std::to_string(order) + " x " + std::to_string(order),
          .per_call = active * (2 * (4 * radius + 1) + 1),
          .unit = "op/s"};
}

/// `rows` x `cols` cells, all of whose neighbours can be read.
[[gnu::noinline]] inline void add(double* __restrict to, std::size_t to_pitch, double const* __restrict from,
                                  std::size_t pitch, std::size_t rows, std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i, to += to_pitch, from += pitch) {
    for (std::size_t j = 0; j < cols; ++j) {
      double const* const u = from + j;
      to[j] += 0.25 * (u[pitch] - *(u - pitch) + u[1] - *(u - 1)) +
               0.125 * (u[2 * pitch] - *(u - 2 * pitch) + u[2] - *(u - 2));
    }
  }
}
[[gnu::noinline]] inline void increment(double* cells, std::size_t pitch, std::size_t rows,
                                        std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i, cells += pitch) {
    for (std::size_t j = 0; j < cols; ++j) cells[j] += 1;
  }
}

}  // namespace star

/// A cell of a cube and its six neighbours.
namespace cube {

inline constexpr std::array<std::size_t, 2> sides{64, 192};

inline row_key key(std::size_t side) {
  std::string const n = std::to_string(side);
  return {.row = "heat3d",
          .mode = n + " x " + n + " x " + n,
          .per_call = 9 * static_cast<double>(side * side * side),
          .unit = "op/s"};
}

/// Planes of side x side cells; `plane` and `pitch` are the distances of planes and rows.
[[gnu::noinline]] inline void relax(double* __restrict to, double const* __restrict from, std::size_t planes,
                                    std::size_t side, std::size_t plane, std::size_t pitch) {
  for (std::size_t i = 0; i < planes; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      double* const v = to + i * plane + j * pitch;
      double const* const u = from + i * plane + j * pitch;
      for (std::size_t k = 0; k < side; ++k) {
        double const around =
            *(u + k - plane) + u[k + plane] + *(u + k - pitch) + u[k + pitch] + *(u + k - 1) + u[k + 1];
        v[k] = u[k] + 0.1 * (around - 6 * u[k]);
      }
    }
  }
}

}  // namespace cube

/// a += b + 3 c; each rank has its share.
namespace triad {

inline constexpr std::array<std::size_t, 2> sizes{std::size_t{1} << 15U, std::size_t{1} << 22U};

inline row_key key(std::size_t cells) {
  return {.row = "nstream", .mode = "", .bytes = 4 * 8 * cells, .unit = "B/s"};
}

[[gnu::noinline]] inline void add(double* __restrict a, double const* __restrict b,
                                  double const* __restrict c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] += b[i] + 3 * c[i];
}

}  // namespace triad

/// b += a^T, and a += 1.
namespace transposed {

inline constexpr std::array<std::size_t, 2> orders{1000, 1024};
inline constexpr std::size_t side = 32;

inline row_key key(std::size_t order) {
  return {.row = "transpose",
          .mode = std::to_string(order) + " x " + std::to_string(order),
          .bytes = 2 * 8 * order * order,
          .unit = "B/s"};
}

/// By blocks: `rows` rows of b, whose columns in a begin at `a`; each row has `order` cells.
[[gnu::noinline]] inline void add(double* __restrict b, double const* __restrict a, std::size_t a_rows,
                                  std::size_t rows, std::size_t order) {
  for (std::size_t i0 = 0; i0 < rows; i0 += side) {
    for (std::size_t j0 = 0; j0 < a_rows; j0 += side) {
      for (std::size_t i = i0; i < std::min(rows, i0 + side); ++i) {
        for (std::size_t j = j0; j < std::min(a_rows, j0 + side); ++j) b[i * order + j] += a[j * order + i];
      }
    }
  }
}

}  // namespace transposed

/// c += a b by panels, and y += a x.
namespace product {

inline constexpr std::size_t width = 64;
inline constexpr std::size_t order = 512;
inline constexpr std::array<std::size_t, 2> vector_orders{512, 2048};

inline row_key key() {
  constexpr auto n = static_cast<double>(order);
  return {.row = "matmul", .mode = std::to_string(order), .per_call = 2 * n * n * n, .unit = "op/s"};
}
inline row_key vector_key(std::size_t n) {
  return {
      .row = "matvec", .mode = std::to_string(n), .per_call = 2 * static_cast<double>(n * n), .unit = "op/s"};
}

/// `rows` x `order` cells of c, from `width` columns of a and rows of b. Rows of b and c are `order` apart.
[[gnu::noinline]] inline void add(double* __restrict c, double const* __restrict a, std::size_t a_pitch,
                                  double const* __restrict b, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      double const factor = a[i * a_pitch + k];
      for (std::size_t j = 0; j < order; ++j) c[i * order + j] += factor * b[k * order + j];
    }
  }
}

/// y += a x for some rows of a.
[[gnu::noinline]] inline void add_rows(double* __restrict y, double const* __restrict a,
                                       double const* __restrict x, std::size_t rows, std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < cols; ++j) sum += a[i * cols + j] * x[j];
    y[i] += sum;
  }
}

}  // namespace product

/// One solution by conjugate gradients, of the equations of a class of the NAS benchmark CG.
namespace cg {

using example::nas::cg::problem;
using example::nas::cg::steps;

inline std::vector<char const*> classes(bool quick) {
  if (quick) return {"S"};
  return {"S", "W"};
}
inline row_key key(problem const& p) { return {.row = "cg", .mode = "class " + std::string(p.name)}; }

}  // namespace cg

}  // namespace bench
