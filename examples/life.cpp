// SPDX-License-Identifier: BSL-1.0
// life: Conway's automaton on a torus. life PATTERN.rle [GENERATIONS], prints population and period.
#include <cstdint>
#include <cstdio>
#include <map>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"
#include "support/rle.hpp"

/// The number that a living cell adds to the hash of its generation. Sums need no order, so ranks add up
/// their own.
std::uint64_t hash_of(std::uint64_t cell) {
  cell = (cell + 1) * 0x9e3779b97f4a7c15U;
  cell = (cell ^ (cell >> 32U)) * 0xbf58476d1ce4e5b9U;
  return cell ^ (cell >> 29U);
}

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty()) throw std::runtime_error("usage: life PATTERN.rle [GENERATIONS]");
    auto const pattern = example::read_rle(arguments[0]);  // small: every rank reads it
    std::size_t const generations = example::number(arguments, 1, 100);
    std::size_t const rows = 2 * pattern.rows + 16;
    std::size_t const cols = 2 * pattern.cols + 16;

    pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
    auto now = pgas::make_array<std::uint8_t>(team, {rows, cols}, around);
    auto next = pgas::make_array<std::uint8_t>(team, {rows, cols}, around);
    std::size_t const own = now.local_rows();
    if (auto const cells = pgas::stage(now, pgas::write_only); true) {
      for (std::size_t i = 0; i < own; ++i)
        for (std::size_t j = 0; j < cols; ++j)  // the pattern is in the middle; cells outside it are dead
          cells(i, j) =
              pattern(now.first_row() + i - (rows - pattern.rows) / 2, j - (cols - pattern.cols) / 2);
    }

    std::map<std::uint64_t, std::size_t>
        seen;  // generations by hash: a hash that comes back shows the period
    for (std::size_t generation = 0; generation <= generations; ++generation) {
      std::uint64_t population = 0;
      std::uint64_t hash = 0;
      auto const live = [&](std::size_t first, std::size_t last, auto const& u, auto const& v) {
        for (std::size_t i = first; i < last; ++i) {
          for (std::size_t j = 0; j < cols; ++j) {
            int const neighbours = u(i - 1, j - 1) + u(i - 1, j) + u(i - 1, j + 1) + u(i, j - 1) +
                                   u(i, j + 1) + u(i + 1, j - 1) + u(i + 1, j) + u(i + 1, j + 1);
            v(i, j) = pattern.rule.next(u(i, j) != 0, static_cast<std::size_t>(neighbours));
            population += u(i, j);
            hash += u(i, j) * hash_of((now.first_row() + i) * cols + j);
          }
        }
      };
      if (auto const v = pgas::stage(next, pgas::write_only); true) {
        auto edges = pgas::begin_exchange(now);  // they travel while the interior is computed
        if (own > 2) live(1, own - 1, pgas::stage(now, pgas::read_own), v);
        edges.finish();
        auto const u = pgas::stage(now, pgas::read_only);  // with the new ghost cells
        if (own > 0) live(0, 1, u, v);
        if (own > 1) live(own - 1, own, u, v);
      }
      std::swap(now, next);

      population = team.all_reduce(population);
      hash = team.all_reduce(hash);
      if (team.rank() == 0)
        std::printf("generation %zu: population %zu\n", generation, std::size_t{population});
      if (auto const [before, is_new] = seen.try_emplace(hash, generation); !is_new) {
        if (team.rank() == 0)
          std::printf("%s: period %zu\n", pattern.name.c_str(), generation - before->second);
        return;
      }
    }
    if (team.rank() == 0)
      std::printf("%s: no period within %zu generations\n", pattern.name.c_str(), generations);
  });
}
// tools/run life examples/data/pulsar.rle:
//   generation 0: population 48
//   generation 1: population 56
//   generation 2: population 72
//   generation 3: population 48
//   Pulsar: period 3
