// SPDX-License-Identifier: BSL-1.0
// The rows of kernels.cpp by threads of one process: as many as there are ranks elsewhere, each on a core of its own.
// No gups: atomic operations on one table are what kernels.cpp has beside its own.
#include <omp.h>

#include "../kernels.hpp"

namespace {

using memory = std::unique_ptr<double[]>;

/// use(first, count) on each thread, with its share of n.
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

/// Touched by who works on it.
memory make(int threads, std::size_t rows, std::size_t cols) {
  auto cells = std::make_unique_for_overwrite<double[]>(rows * cols);
  shared_out(threads, rows,
             [&](std::size_t first, std::size_t count) { std::fill_n(cells.get() + first * cols, count * cols, 1.0); });
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

}  // namespace

int main(int argc, char** argv) {
  bench::measure_alone(argc, argv, [](bench::meter& m, int threads) {
    for (std::size_t const order : bench::star::orders) star(m, threads, order);
    for (std::size_t const cells : bench::triad::sizes) nstream(m, threads, cells);
    for (std::size_t const order : bench::transposed::orders) transpose(m, threads, order);
  });
}
