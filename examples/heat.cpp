// SPDX-License-Identifier: BSL-1.0
// heat: cools a picture as a hot plate. heat IMAGE [ITERATIONS] [FRAMES] [PREFIX], writes PREFIX-*.png.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <string>
#include <support/backends.hpp>
#include <vector>

#include "support/arguments.hpp"
#include "support/image.hpp"
#include "support/progress.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty()) throw std::runtime_error("usage: heat IMAGE [ITERATIONS] [FRAMES] [PREFIX]");
    std::size_t const steps = example::number(arguments, 1, 2000);
    std::size_t const every =
        std::max<std::size_t>(1, steps / std::max<std::size_t>(1, example::number(arguments, 2, 5)));
    std::string const prefix(arguments.size() > 3 ? arguments[3] : "heat");

    example::image photo;
    if (team.rank() == 0) photo = example::read_image(arguments[0]);
    auto const [rows, cols] = team.broadcast(std::array{photo.rows, photo.cols});
    std::vector<double> plate(photo.pixels.begin(),
                              photo.pixels.end());  // the whole plate on rank 0, none elsewhere

    // Each rank owns a block of rows, with ghost cells around it. Those beyond the plate stay cold, at 0.
    auto now = pgas::make_array<double>(team, {rows, cols}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {rows, cols}, pgas::halo{.width = 1});
    {
      pgas::fence epoch{now};  // rank 0 puts the picture into all parts
      if (team.rank() == 0) epoch.put({{0, 0}, {rows, cols}}, plate);
    }

    example::progress bar("heat", steps, team.rank() == 0);
    for (std::size_t step = 0;; ++step) {
      if (step % every == 0 || step == steps) {
        pgas::fence epoch{now, pgas::read_only};  // rank 0 gets the picture; no rank sends it
        if (team.rank() == 0) epoch.get({{0, 0}, {rows, cols}}, plate);
        epoch.close();
        if (team.rank() == 0) example::write_png(example::frame_name(prefix, step), rows, cols, plate);
      }
      if (step == steps) break;

      pgas::exchange_halo(now);  // edge rows travel into the ghost rows of neighbours
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::write_only);
        for (std::size_t i = 0; i < now.local_rows(); ++i)
          for (std::size_t j = 0; j < cols; ++j)
            v(i, j) = u(i, j) + 0.2 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
      }
      std::swap(now, next);

      if (step % 50 == 49 || step + 1 == steps) {
        double change = 0;
        auto const u = pgas::stage(next, pgas::read_own);
        auto const v = pgas::stage(now, pgas::read_own);
        for (std::size_t i = 0; i < now.local_rows(); ++i)
          for (std::size_t j = 0; j < cols; ++j) change = std::max(change, std::abs(v(i, j) - u(i, j)));
        bar.update(step + 1, "residual", team.all_reduce(change, pgas::op::max{}));
      }
    }
    bar.finish();
    if (team.rank() == 0)
      std::printf("heat: %zu steps on %d ranks, see %s-*.png\n", steps, team.size(), prefix.c_str());
  });
}
// tools/run heat examples/data/pgas.png:
//   heat: 2000 of 2000 iterations in 0:01, 3127 it/s, residual 1.15e-03
//   heat: 2000 steps on 2 ranks, see heat-*.png
