// SPDX-License-Identifier: BSL-1.0
// The rows of heat.cpp by threads of one process: as many as the other programs have ranks, each on its own
// core.
#include <omp.h>

#include <memory>

#include "../stencil.hpp"

namespace {

void measure(bench::meter& m, int threads, std::size_t side) {
  std::size_t const pitch = side + 8;  // a line behind each row
  std::size_t const origin = pitch + 8;
  auto const make = [&] { return std::make_unique_for_overwrite<double[]>(origin + (side + 2) * pitch); };
  auto now = make();
  auto next = make();
  auto const each_block = [=](auto use) {
#pragma omp parallel num_threads(threads)
    {
      auto const parts = static_cast<std::size_t>(omp_get_num_threads());
      auto const part = static_cast<std::size_t>(omp_get_thread_num());
      std::size_t const first = side * part / parts;
      use(origin + first * pitch, side * (part + 1) / parts - first);
    }
  };
  std::fill_n(now.get(), origin, 1.0);
  std::fill_n(next.get(), origin, 1.0);
  each_block([&](std::size_t at, std::size_t rows) {  // each thread touches the rows that it works on, and
                                                      // the last thread also the row below all
    std::fill_n(now.get() + at, (rows + 1) * pitch, 1.0);
    std::fill_n(next.get() + at, (rows + 1) * pitch, 1.0);
  });
  m.measure(bench::stencil_key(side), {bench::everybody("", [&] {
              each_block([to = next.get(), from = now.get(), side, pitch](std::size_t at, std::size_t rows) {
                bench::relax(to + at, from + at, rows, side, pitch);
              });
              std::swap(now, next);
            })});
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_alone(argc, argv, [](bench::meter& m, int threads) {
    for (std::size_t const side : bench::stencil_sides) measure(m, threads, side);
  });
}
