// SPDX-License-Identifier: BSL-1.0
// fft3d: heat in a periodic box by Fourier transforms: NAS FT. fft3d [--class S|W|A|B] [--pencils].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>

#include "support/distributed_fft.hpp"
#include "support/nas_ft.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team, auto arguments) {
    auto problem = example::nas::problem_of("S");
    pgas::grid ranks{0, 1};  // slabs, divided over z alone; pencils are divided over z and y
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--class" && i + 1 < arguments.size()) {
        problem = example::nas::problem_of(arguments[++i]);
      } else if (arguments[i] == "--pencils") {
        ranks = pgas::grid{0, 0};
      } else {
        throw std::runtime_error("usage: fft3d [--class S|W|A|B] [--pencils]");
      }
    }
    auto const [nz, ny, nx] = problem.extents;
    std::size_t const all = nz * ny * nx;

    example::distributed_fft const fft(team, problem.extents, ranks);
    auto const cells = fft.make_cells();        // (z, y, x)
    auto const spectrum = fft.make_spectrum();  // (y, z, x): another dimension is distributed
    auto const work = fft.make_spectrum();

    auto const start = std::chrono::steady_clock::now();
    if (auto const u = pgas::stage(cells, pgas::write_only); true) {
      auto const [first, own] = cells.own_box();
      for (std::size_t z = 0; z < own[0]; ++z) {
        for (std::size_t y = 0; y < own[1];
             ++y) {  // each row is a piece of one stream: jump to its beginning
          example::nas::random next(2 * ((first[0] + z) * ny + first[1] + y) * nx);
          for (std::size_t x = 0; x < nx; ++x) {
            double const real = next();
            u(z, y, x) = {real, next()};
          }
        }
      }
    }
    fft.forward(cells, spectrum);

    double deviation = 0;
    auto const dz = example::nas::decay(nz);
    auto const dy = example::nas::decay(ny);
    auto const dx = example::nas::decay(nx);
    for (std::size_t step = 0; step < problem.checksums.size(); ++step) {
      {  // each wave decays independently
        auto const waves = pgas::stage(spectrum, pgas::read_write);
        auto const copy = pgas::stage(work, pgas::write_only);
        auto const [first, own] = spectrum.own_box();
        for (std::size_t y = 0; y < own[0]; ++y)
          for (std::size_t z = 0; z < own[1]; ++z)
            for (std::size_t x = 0; x < own[2]; ++x)
              copy(y, z, x) = waves(y, z, x) *= dy[first[0] + y] * dz[z] * dx[first[2] + x];
      }
      fft.inverse(work, cells);

      example::cell mine = 0;  // this rank's share of the checksum
      if (auto const u = pgas::stage(cells, pgas::read_only); true) {
        auto const [first, own] = cells.own_box();
        for (std::size_t j = 1; j <= 1024; ++j) {
          std::size_t const z = 5 * j % nz - first[0];  // wraps to a large number below first
          std::size_t const y = 3 * j % ny - first[1];
          if (z < own[0] && y < own[1]) mine += u(z, y, j % nx);
        }
      }
      auto const sum = team.all_reduce(mine) / static_cast<double>(all);
      deviation = std::max(deviation, example::nas::deviation(sum, problem.checksums[step]));
      if (team.rank() == 0) std::printf("step %zu: checksum %.12e %.12e\n", step + 1, sum.real(), sum.imag());
    }
    if (deviation > example::nas::tolerance)
      throw std::runtime_error("not verified: a checksum deviates by " + std::to_string(deviation));
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - start;
    if (team.rank() == 0)
      std::printf("class %s: verified, deviation %.0e, %.2f s\n", problem.name.data(), deviation,
                  time.count());
  });
}
// tools/run fft3d:
//   step 1: checksum 5.546087004964e+02 4.845363331978e+02
//   ...
//   step 6: checksum 5.542683411903e+02 4.932597244941e+02
//   class S: verified, deviation 9e-14, 0.01 s
