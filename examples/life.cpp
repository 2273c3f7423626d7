// SPDX-License-Identifier: BSL-1.0
// life: Conway's automaton on a torus. life PATTERN.rle [GENERATIONS], prints population and period.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <pgas/halo.hpp>
#include <pgas/pgas.hpp>
#include <string>

#include "support/rle.hpp"

using backends = pgas::choices<pgas::backends::process_map, pgas::backends::thread_map>;

int main(int argc, char** argv) {
  return pgas::run<backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty()) throw std::runtime_error("usage: life PATTERN.rle [GENERATIONS]");
    auto const pattern = example::read_rle(std::string(arguments[0]));
    int const generations = arguments.size() > 1 ? std::stoi(std::string(arguments[1])) : 60;
    std::size_t const rows = 2 * pattern.rows + 16;
    std::size_t const cols = 2 * pattern.cols + 16;

    auto now = pgas::make_array<std::uint8_t, 2>(team, {rows, cols}, pgas::halo{1, pgas::edge::periodic});
    auto next = pgas::make_array<std::uint8_t, 2>(team, {rows, cols}, pgas::halo{1, pgas::edge::periodic});
    {
      auto const cells = pgas::stage<pgas::write>(now);
      for (std::size_t i = 0; i < now.local_rows(); ++i)
        for (std::size_t j = 0; j < cols; ++j)  // in the middle; outside the pattern all is dead
          cells(i, j) = pattern(now.first_row() + i - (rows - pattern.rows) / 2, j - (cols - pattern.cols) / 2);
    }

    std::map<std::uint64_t, int> seen;  // states by hash, to find when one comes back
    int period = 0;
    for (int generation = 0; generation <= generations; ++generation) {
      std::uint64_t population = 0;
      std::uint64_t hash = 0;
      auto const last = static_cast<std::ptrdiff_t>(now.local_rows()) - 1;
      auto const live = [&](std::ptrdiff_t first, std::ptrdiff_t end, auto const& u, auto const& v) {
        for (std::ptrdiff_t i = first; i < end; ++i) {
          for (std::ptrdiff_t j = 0; j < static_cast<std::ptrdiff_t>(cols); ++j) {
            int const around = u(i - 1, j - 1) + u(i - 1, j) + u(i - 1, j + 1) + u(i, j - 1) + u(i, j + 1) +
                               u(i + 1, j - 1) + u(i + 1, j) + u(i + 1, j + 1);
            v(i, j) = pattern.rule.next(u(i, j) != 0, static_cast<std::size_t>(around));
            std::uint64_t const cell =
                (now.first_row() + static_cast<std::size_t>(i)) * cols + static_cast<std::size_t>(j);
            population += u(i, j);
            hash += u(i, j) * ((cell + 1) * 0x9e3779b97f4a7c15U ^ (cell * cell * 0xbf58476d1ce4e5b9U));
          }
        }
      };
      auto edges = pgas::begin_exchange(now);  // on their way while the interior is computed
      live(1, last, pgas::stage<pgas::read>(now), pgas::stage<pgas::write>(next));
      edges.finish();
      if (last >= 0) {
        auto const u = pgas::stage<pgas::read>(now);
        auto const v = pgas::stage<pgas::write>(next);
        live(0, 1, u, v);
        if (last > 0) live(last, last + 1, u, v);
      }
      std::swap(now, next);

      population = team.all_reduce(population);
      hash = team.all_reduce(hash);
      if (team.rank() == 0)
        std::printf("generation %d: population %llu\n", generation, static_cast<unsigned long long>(population));
      if (auto const [before, is_new] = seen.try_emplace(hash, generation); !is_new) {
        period = generation - before->second;
        break;
      }
    }
    if (team.rank() != 0) return;
    if (period != 0) std::printf("%s: period %d\n", pattern.name.c_str(), period);
    if (period == 0) std::printf("%s: no period within %d generations\n", pattern.name.c_str(), generations);
  });
}
// tools/run life examples/data/pulsar.rle:
//   generation 0: population 48
//   generation 1: population 56
//   generation 2: population 72
//   generation 3: population 48
//   Pulsar: period 3
