// SPDX-License-Identifier: BSL-1.0
// fft_image: a picture blurred and sharpened by its frequencies. fft_image PHOTO [SIGMA] [PREFIX].
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <pgas/pgas.hpp>
#include <string>
#include <support/backends.hpp>
#include <vector>

#include "support/arguments.hpp"
#include "support/distributed_fft.hpp"
#include "support/image.hpp"

/// The square of the frequency of wave i of n, in turns a pixel.
double squared_frequency(std::size_t i, std::size_t n) {
  double const f = static_cast<double>(std::min(i, n - i)) / static_cast<double>(n);
  return f * f;
}

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty()) throw std::runtime_error("usage: fft_image PHOTO [SIGMA] [PREFIX]");
    std::size_t const sigma = example::number(arguments, 1, 4);  // of the blur, in pixels
    std::string const prefix(arguments.size() > 2 ? arguments[2] : "photo");

    example::photo photo;
    if (team.rank() == 0) photo = example::read_photo(arguments[0]);
    auto const [channels, rows, cols] = team.broadcast(std::array{photo.channels, photo.rows, photo.cols});
    // A transform takes the picture as periodic. A margin that repeats its edge keeps opposite edges apart.
    std::size_t const margin = 3 * std::min(sigma, std::max(rows, cols));
    std::size_t const height = rows + 2 * margin;
    std::size_t const width = cols + 2 * margin;
    pgas::box<3> const inside{{0, margin, margin}, {channels, rows, cols}};

    // (channel, y, x): distributed along y while rows are transformed, and along x while columns are.
    example::sharing const rule;
    auto const by_y =
        pgas::make_array<example::cell>(team, {channels, height, width}, rule.on(pgas::grid{1, 0, 1}));
    auto const by_x =
        pgas::make_array<example::cell>(team, {channels, height, width}, rule.on(pgas::grid{1, 1, 0}));
    {
      std::vector<example::cell> cells;  // all cells on rank 0, none elsewhere
      auto const clamped = [&](std::size_t i, std::size_t n) {
        return std::clamp(i, margin, margin + n - 1) - margin;
      };
      for (std::size_t c = 0; c < photo.channels; ++c)
        for (std::size_t y = 0; y < height; ++y)
          for (std::size_t x = 0; x < width; ++x)
            cells.emplace_back(photo(c, clamped(y, rows), clamped(x, cols)));
      pgas::fence epoch{by_y};
      if (team.rank() == 0) epoch.put({{}, by_y.extents()}, cells);
      epoch.close();
    }

    using enum example::plane_transform::direction;
    using planes = example::plane_transform;
    using some_lines = example::line_transform;
    auto const quickly = example::effort::estimate;
    example::exchange(by_y, transform_of<planes>(by_y, example::lines::rows, forward, quickly), by_x,
                      transform_of<some_lines>(by_x, example::lines::columns, forward, quickly),
                      example::order::same);
    if (auto const waves = pgas::stage(by_x, pgas::read_write); true) {
      auto const [first, own] = by_x.own_box();
      double const scale = 1 / static_cast<double>(height * width);
      double const spread = 2 * std::pow(std::numbers::pi * static_cast<double>(sigma), 2);
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t y = 0; y < height; ++y)
          for (std::size_t x = 0; x < own[2]; ++x) {
            double const blur =
                std::exp(-spread * (squared_frequency(y, height) + squared_frequency(first[2] + x, width)));
            double const sharpen = 1 + 1.5 * (1 - blur);
            waves(c, y, x) *=
                scale * example::cell(blur, sharpen);  // the sharpened picture becomes the imaginary part
          }
    }
    example::exchange(by_x, transform_of<planes>(by_x, example::lines::columns, inverse, quickly), by_y,
                      transform_of<some_lines>(by_y, example::lines::rows, inverse, quickly),
                      example::order::same);

    std::vector<example::cell> cells(photo.pixels.size());
    {
      pgas::fence epoch{by_y, pgas::read_only};
      if (team.rank() == 0) epoch.get(inside, cells);
      epoch.close();
    }
    if (team.rank() != 0) return;
    auto const write = [&](std::string const& name, auto part) {
      std::transform(cells.begin(), cells.end(), photo.pixels.begin(),
                     [&](example::cell const& cell) { return static_cast<float>(part(cell)); });
      example::write_photo(name, photo);
    };
    write(prefix + "-blurred.png", [](auto const& cell) { return cell.real(); });
    write(prefix + "-sharpened.png", [](auto const& cell) { return cell.imag(); });
    std::printf("fft_image: %zu x %zu pixels in %zu channels on %d ranks, see %s-*.png\n", cols, rows,
                channels, team.size(), prefix.c_str());
  });
}
// tools/run fft_image examples/data/pgas.png:
//   fft_image: 256 x 256 pixels in 1 channels on 2 ranks, see photo-*.png
