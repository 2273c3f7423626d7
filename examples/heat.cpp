// SPDX-License-Identifier: BSL-1.0
// heat: a picture is a hot plate; watch it cool. heat IMAGE [ITERATIONS] [FRAMES], writes heat-NNNNN.png.
#include <cmath>
#include <cstdio>
#include <pgas/halo.hpp>
#include <pgas/pgas.hpp>
#include <string>

#include "support/image.hpp"
#include "support/progress.hpp"

using backends = pgas::choices<pgas::backends::process_map, pgas::backends::thread_map>;

int main(int argc, char** argv) {
  return pgas::run<backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty()) throw std::runtime_error("usage: heat IMAGE [ITERATIONS] [FRAMES]");
    auto const plate = example::read_image(std::string(arguments[0]));
    auto const number = [&](std::size_t i, std::size_t otherwise) {
      return i < arguments.size() ? std::stoul(std::string(arguments[i])) : otherwise;
    };
    std::size_t const steps = number(1, 2000);
    std::size_t const every = std::max<std::size_t>(1, steps / std::max<std::size_t>(1, number(2, 5)));

    // Rows are shared out; each part has a ghost row above and below, and ghost columns that stay cold.
    auto now = pgas::make_array<double, 2>(team, {plate.rows, plate.cols}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double, 2>(team, {plate.rows, plate.cols}, pgas::halo{.width = 1});
    std::size_t const rows = now.local_rows();
    {
      auto u = pgas::stage<pgas::write>(now);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < plate.cols; ++j) u(i, j) = static_cast<double>(plate(now.first_row() + i, j));
    }

    example::progress bar("heat", steps, team.rank() == 0);
    for (std::size_t step = 0;; ++step) {
      if (step % every == 0) {  // rank 0 fetches the whole plate; nobody has to send it
        pgas::fence epoch{now.window(), pgas::read_only};
        if (team.rank() == 0) {
          std::vector<double> picture(plate.rows * plate.cols);
          now.get(epoch, {{0, 0}, {plate.rows, plate.cols}}, picture);
          epoch.flush_local_all();
          example::write_png(example::frame_name("heat", step), plate.rows, plate.cols, picture);
        }
      }
      if (step == steps) break;

      pgas::exchange_halo(now);  // my edge rows go into my neighbours' ghost rows, theirs into mine
      double change = 0;
      {
        auto const u = pgas::stage<pgas::read>(now);
        auto const v = pgas::stage<pgas::write>(next);
        for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(rows); ++i) {
          for (std::ptrdiff_t j = 0; j < static_cast<std::ptrdiff_t>(plate.cols); ++j) {
            double const flow = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j);
            v(i, j) = u(i, j) + 0.2 * flow;
            change = std::max(change, std::abs(flow));
          }
        }
      }
      std::swap(now, next);
      if (step % 100 == 99) bar.update(step + 1, "residual", team.all_reduce(change, pgas::op::max{}));
    }
    bar.finish();
    if (team.rank() == 0) std::printf("heat: %zu steps on %d ranks, see heat-*.png\n", steps, team.size());
  });
}
// tools/run heat examples/data/pgas.png:
//   heat: 2000 steps on 2 ranks, see heat-*.png
