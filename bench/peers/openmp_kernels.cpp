// SPDX-License-Identifier: BSL-1.0
// The rows of kernels.cpp by threads of one process: as many as the other programs have ranks, each on its
// own core. There is no gups: kernels.cpp itself has atomic operations on one table as its baseline.
#include <omp.h>

#include <memory>

#include "../kernels.hpp"

namespace {

using memory = std::unique_ptr<double[]>;

/// Calls use(first, count) on each thread, with its share of n.
template <class Use>
void shared_out(int threads, std::size_t n, Use const& use) {
#pragma omp parallel num_threads(threads)
  {
    auto const parts = static_cast<std::size_t>(omp_get_num_threads());
    auto const part = static_cast<std::size_t>(omp_get_thread_num());
    std::size_t const first = n * part / parts;
    use(first, n * (part + 1) / parts - first);
  }
}

/// Each thread touches the rows that it works on.
memory make(int threads, std::size_t rows, std::size_t cols) {
  auto cells = std::make_unique_for_overwrite<double[]>(rows * cols);
  shared_out(threads, rows, [&](std::size_t first, std::size_t count) {
    std::fill_n(cells.get() + first * cols, count * cols, 1.0);
  });
  return cells;
}

void star(bench::meter& m, int threads, std::size_t order) {
  constexpr std::size_t radius = bench::star::radius;
  std::size_t const inner = order - 2 * radius;
  auto const in = make(threads, order, order);
  auto const out = make(threads, order, order);
  m.measure(bench::star::key(order), {bench::everybody("", [&] {
              shared_out(threads, inner, [&](std::size_t first, std::size_t rows) {
                std::size_t const at = (first + radius) * order + radius;
                bench::star::add(out.get() + at, order, in.get() + at, order, rows, inner);
              });
              shared_out(threads, order, [&](std::size_t first, std::size_t rows) {
                bench::star::increment(in.get() + first * order, order, rows, order);
              });
            })});
}

void heat3d(bench::meter& m, int threads, std::size_t side) {
  std::size_t const pitch = side + 2;
  std::size_t const plane = pitch * pitch;
  auto now = make(threads, side + 2, plane);
  auto next = make(threads, side + 2, plane);
  m.measure(bench::cube::key(side), {bench::everybody("", [&] {
              shared_out(threads, side, [&](std::size_t first, std::size_t planes) {
                std::size_t const at = (first + 1) * plane + pitch + 1;
                bench::cube::relax(next.get() + at, now.get() + at, planes, side, plane, pitch);
              });
              std::swap(now, next);
            })});
}

void nstream(bench::meter& m, int threads, std::size_t cells) {
  auto const a = make(threads, cells, 1);
  auto const b = make(threads, cells, 1);
  auto const c = make(threads, cells, 1);
  m.measure(bench::triad::key(cells), {bench::everybody("", [&] {
              shared_out(threads, cells, [&](std::size_t first, std::size_t count) {
                bench::triad::add(a.get() + first, b.get() + first, c.get() + first, count);
              });
            })});
}

void transpose(bench::meter& m, int threads, std::size_t order) {
  auto const a = make(threads, order, order);
  auto const b = make(threads, order, order);
  m.measure(bench::transposed::key(order), {bench::everybody("", [&] {
              shared_out(threads, order, [&](std::size_t first, std::size_t rows) {
                bench::transposed::add(b.get() + first * order, a.get() + first, order, rows, order);
              });
              shared_out(threads, order, [&](std::size_t first, std::size_t rows) {
                bench::star::increment(a.get() + first * order, order, rows, order);
              });
            })});
}

void matmul(bench::meter& m, int threads) {
  namespace kernel = bench::product;
  constexpr std::size_t order = kernel::order;
  auto const a = make(threads, order, order);
  auto const b = make(threads, order, order);
  auto const c = make(threads, order, order);
  m.measure(kernel::key(), {bench::everybody("", [&] {
              shared_out(threads, order, [&](std::size_t first, std::size_t rows) {
                for (std::size_t k = 0; k < order; k += kernel::width)
                  kernel::add(&c[first * order], &a[first * order + k], order, &b[k * order], rows);
              });
            })});
}

void matvec(bench::meter& m, int threads, std::size_t order) {
  auto const a = make(threads, order, order);
  auto const x = make(threads, order, 1);
  auto const y = make(threads, order, 1);
  m.measure(bench::product::vector_key(order), {bench::everybody("", [&] {
              shared_out(threads, order, [&](std::size_t first, std::size_t rows) {
                bench::product::add_rows(&y[first], &a[first * order], x.get(), rows, order);
              });
            })});
}

void cg(bench::meter& m, int threads, bench::cg::problem const& problem) {
  std::size_t const n = problem.order;
  auto const matrix = example::nas::cg::make_rows(problem, 0, n);
  auto const x = make(threads, n, 1);
  auto const z = make(threads, n, 1);
  auto const p = make(threads, n, 1);
  auto const q = make(threads, n, 1);
  auto const r = make(threads, n, 1);
  auto const solve = [&] {
    double rho = 0;
    double before = 0;
    double pq = 0;
    double off = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static) reduction(+ : rho)
      for (std::size_t i = 0; i < n; ++i) {
        z[i] = 0;
        r[i] = p[i] = x[i];
        rho += x[i] * x[i];
      }
      for (int step = 0; step < bench::cg::steps; ++step) {
#pragma omp for schedule(static) reduction(+ : pq)
        for (std::size_t i = 0; i < n; ++i) {
          q[i] = matrix.times(i, p.get());
          pq += p[i] * q[i];
        }
#pragma omp single
        before = std::exchange(rho, 0);
#pragma omp for schedule(static) reduction(+ : rho)
        for (std::size_t i = 0; i < n; ++i) {
          double const alpha = before / pq;
          z[i] += alpha * p[i];
          r[i] -= alpha * q[i];
          rho += r[i] * r[i];
        }
#pragma omp single nowait
        pq = 0;
#pragma omp for schedule(static)
        for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + rho / before * p[i];
      }
#pragma omp for schedule(static) reduction(+ : off)
      for (std::size_t i = 0; i < n; ++i) {
        double const one = x[i] - matrix.times(i, z.get());
        off += one * one;
      }
    }
    bench::keep(std::sqrt(off));
  };
  m.measure(bench::cg::key(problem), {bench::everybody("", solve)});
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_alone(argc, argv, [](bench::meter& m, int threads) {
    for (std::size_t const order : bench::star::orders) star(m, threads, order);
    for (std::size_t const side : bench::cube::sides) heat3d(m, threads, side);
    for (std::size_t const cells : bench::triad::sizes) nstream(m, threads, cells);
    for (std::size_t const order : bench::transposed::orders) transpose(m, threads, order);
    matmul(m, threads);
    for (std::size_t const order : bench::product::vector_orders) matvec(m, threads, order);
    for (auto const* name : bench::cg::classes(m.quick())) cg(m, threads, example::nas::cg::problem_of(name));
  });
}
