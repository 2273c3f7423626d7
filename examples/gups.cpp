// SPDX-License-Identifier: BSL-1.0
// gups: HPC Challenge's RandomAccess, xor at random places of a table. gups [LOG2_WORDS] [--plain].
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <support/backends.hpp>
#include <vector>

#include "support/arguments.hpp"

// The benchmark's random numbers are the powers of X modulo X^64 + X^2 + X + 1, a bit for each coefficient.
constexpr std::uint64_t next(std::uint64_t x) { return (x << 1U) ^ ((x >> 63U) != 0 ? 7U : 0U); }

constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  for (unsigned bit = 64; bit-- > 0;) result = next(result) ^ ((b >> bit & 1U) != 0 ? a : 0U);
  return result;
}

/// Number n of the sequence, computed without its predecessors. The benchmark calls it starts(n).
constexpr std::uint64_t random_number(std::uint64_t n) {
  std::uint64_t result = 1;
  for (std::uint64_t square = 2; n != 0; n /= 2, square = product(square, square)) {
    if (n % 2 != 0) result = product(result, square);
  }
  return result;
}

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    bool const plain = !arguments.empty() && arguments.back() == "--plain";
    if (plain) arguments = arguments.first(arguments.size() - 1);
    std::size_t const log2_words = example::number(arguments, 0, 18);
    if (arguments.size() > 1) throw std::runtime_error("usage: gups [LOG2_WORDS] [--plain]");
    if (log2_words > 40)
      throw std::runtime_error("gups: 2^" + std::to_string(log2_words) + " words are too many");

    std::size_t const words = std::size_t{1} << log2_words;
    auto table = pgas::make_array<std::uint64_t>(team, words);
    if (auto const own = pgas::stage(table, pgas::write_only); true)
      std::iota(own.begin(), own.end(), table.own_box().first[0]);

    // Each rank takes its share of the sequence and updates the words that it names, on any rank.
    std::size_t const updates = 4 * words;
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const self = static_cast<std::size_t>(team.rank());
    std::size_t const first = updates * self / ranks;
    std::size_t const last = updates * (self + 1) / ranks;
    struct update {
      std::pair<int, std::size_t> place;
      std::uint64_t value;
    };
    std::vector<update> batch;
    constexpr std::size_t most_under_way = 1024;  // the benchmark's rule
    constexpr std::size_t ahead = 32;             // as many lines as a core fetches at a time
    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    {
      pgas::fence epoch{table};
      std::vector<decltype(epoch.to(0))> parts;
      for (int r = 0; r < team.size(); ++r) parts.push_back(epoch.to(r));
      std::uint64_t x = random_number(first);
      for (std::size_t k = first; k < last; k += batch.size()) {
        // The place is computed beforehand: otherwise it would wait for the preceding atomic operation.
        batch.resize(std::min(most_under_way, last - k));
        for (auto& u : batch) {
          x = next(x);
          u = {table.layout().owner_and_offset({x % words}), x};
        }
        auto const part_of = [&](update const& u) -> auto const& {
          return parts[static_cast<std::size_t>(u.place.first)];
        };
        for (std::size_t i = 0; i < batch.size(); ++i) {
          auto const& later = batch[std::min(i + ahead, batch.size() - 1)];
          part_of(later).prefetch(later.place.second);
          auto const& [place, value] = batch[i];
          auto const& part = part_of(batch[i]);
          if (plain)
            part.put(place.second,
                     part.get(place.second) ^ value);  // loses what another rank stores meanwhile
          else
            part.accumulate(place.second, value, pgas::op::bit_xor{});
        }
      }
    }
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // Each rank reverts all updates of its own words. The table is then as before, unless an update was lost.
    std::size_t errors = 0;
    auto const mine = table.own_box();
    auto const own = pgas::stage(table, pgas::read_write);
    std::uint64_t x = random_number(0);
    for (std::size_t k = 0; k < updates; ++k) {
      x = next(x);
      std::size_t const i = x % words - mine.first[0];
      if (i < mine.count[0]) own[i] ^= x;
    }
    for (std::size_t i = 0; i < mine.count[0]; ++i) errors += own[i] != mine.first[0] + i ? 1U : 0U;
    errors = team.all_reduce(errors, pgas::op::sum{});

    if (team.rank() != 0) return;
    std::fprintf(stderr, "gups: %.6f GUPS\n", static_cast<double>(updates) / passed.count() * 1e-9);
    std::printf("gups: %zu updates of %zu words, %zu errors\n", updates, words, errors);
    if (plain ? errors * 100 >= words : errors != 0)
      throw std::runtime_error("gups: too many updates were lost");
  });
}
// tools/run gups 22:
//   gups: 0.026233 GUPS
//   gups: 16777216 updates of 4194304 words, 0 errors
