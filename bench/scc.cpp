// SPDX-License-Identifier: BSL-1.0
// The speed of the emulated chip on one core of this machine: a hit beside a bare look-up in a
// set-associative cache, a scheduling point beside a bare switch of fibers, and a whole automaton on 48
// cores.
#include <boost/context/fiber.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/exchange_halo.hpp>

#include "harness.hpp"

namespace {

namespace emulated = pgas::detail::scc;
using pgas::scc::page_type;

constexpr std::size_t accesses = 2048;  // to as many words, all of them in L1
constexpr std::size_t points = 65536;   // many, since each sample starts a chip

/// A walk over the words of 8 KiB that no compiler can predict.
emulated::physical_address word_at(std::size_t i) {
  return static_cast<emulated::physical_address>(i * 389 % accesses * sizeof(std::uint32_t));
}

/// One core of an otherwise idle chip, outside of any fiber: it may only hit.
class lone_core {
 public:
  lone_core() : job_(pgas::detail::job::create(1, false)), chip_(job_, {}) {
    chip_.turns().run([&](pgas::rank_t) {
      for (std::size_t i = 0; i < accesses; ++i) load(i);
    });
  }
  std::uint32_t load(std::size_t i) {
    std::uint32_t value = 0;
    chip_.at(0).load(page_type::mpbt_wt, word_at(i), std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

 private:
  pgas::detail::job job_;
  emulated::chip chip_;
};

/// A cache of the same size, with nothing around it.
class bare_cache {
 public:
  bare_cache() {
    for (std::size_t i = 0; i < accesses * sizeof(std::uint32_t) / 32; ++i)
      numbers_[i % sets * ways + i / sets] = i;
  }
  std::uint32_t load(std::size_t i) {
    std::size_t const at = word_at(i);
    std::size_t const number = at / 32;
    for (std::size_t way = number % sets * ways; way < number % sets * ways + ways; ++way) {
      if (numbers_[way] == number) {
        std::uint32_t value = 0;
        std::memcpy(&value, lines_[way].data() + at % 32, sizeof value);
        return value;
      }
    }
    return 0;
  }

 private:
  static constexpr std::size_t ways = 4;
  static constexpr std::size_t sets = 128;
  std::array<std::size_t, sets * ways> numbers_{};
  std::array<std::array<std::byte, 32>, sets * ways> lines_{};
};

/// Passes that many points on each of two cores.
void pass_points(pgas::scc::scheduling how) {
  pgas::scc::options chosen;
  chosen.schedule = how;
  auto const job = pgas::detail::job::create(2, false);
  emulated::scheduler turns(job, chosen);
  turns.run([&](pgas::rank_t) {
    for (std::size_t i = 0; i < points / 2; ++i) turns.point();
  });
}

void switch_fibers() {
  boost::context::fiber other([](boost::context::fiber&& caller) {
    for (std::size_t i = 0; i < points / 2; ++i) caller = std::move(caller).resume();
    return std::move(caller);
  });
  while (other) other = std::move(other).resume();
}

/// Generations of Conway's automaton on a torus, as in examples/life. Returns the number of living cells in
/// the end.
template <bool Staged, class Team>
std::uint64_t life(Team& team, std::size_t rows, std::size_t cols, int generations) {
  pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
  auto now = pgas::make_array<std::uint8_t>(team, {rows, cols}, around);
  auto next = pgas::make_array<std::uint8_t>(team, {rows, cols}, around);
  std::size_t const own = now.local_rows();
  if (auto const cells = pgas::stage(now, pgas::write_only); true) {
    for (std::size_t i = 0; i < own; ++i)
      for (std::size_t j = 0; j < cols; ++j) cells(i, j) = (now.first_row() + i) * 7 % 5 == j * 3 % 4;
  }
  auto const step = [&](auto const& u, auto const& v) {
    for (std::size_t i = 0; i < own; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        int const neighbours = u(i - 1, j - 1) + u(i - 1, j) + u(i - 1, j + 1) + u(i, j - 1) + u(i, j + 1) +
                               u(i + 1, j - 1) + u(i + 1, j) + u(i + 1, j + 1);
        v(i, j) = static_cast<std::uint8_t>(neighbours == 3 || (neighbours == 2 && u(i, j) != 0));
      }
    }
  };
  for (int generation = 0; generation < generations; ++generation) {
    pgas::exchange_halo(now);
    if constexpr (Staged) {
      step(pgas::stage(now, pgas::read_only), pgas::stage(next, pgas::write_only));
    } else {
      step(now.local(), next.local());
    }
    std::swap(now, next);
  }
  std::uint64_t alive = 0;
  auto const u = pgas::stage(now, pgas::read_only);
  for (std::size_t i = 0; i < own; ++i)
    for (std::size_t j = 0; j < cols; ++j) alive += u(i, j);
  return team.all_reduce(alive);
}

/// The seconds of a run on 48 cores; measured once, since it is long.
template <bool Staged>
double seconds_of_life(std::size_t rows, std::size_t cols, int generations, bool watched) {
  pgas::scc::options how;
  how.check = watched;
  pgas::scc::with_options const chosen(how);
  auto const before = std::chrono::steady_clock::now();
  pgas::run<pgas::backends::scc>(
      48, [&](auto& team) { bench::keep(life<Staged>(team, rows, cols, generations)); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  int const code = bench::run(options, "scc", {1}, [](auto& b) {
    lone_core core;
    bare_cache bare;
    b.compare({.name = "hit in L1", .per_call = accesses},
              {"emulated",
               [&](std::size_t n) {
                 for (; n > 0; --n) {
                   std::uint32_t sum = 0;
                   for (std::size_t i = 0; i < accesses; ++i) sum += core.load(i);
                   bench::keep(sum);
                 }
               }},
              {{"bare look-up", [&](std::size_t n) {
                  for (; n > 0; --n) {
                    std::uint32_t sum = 0;
                    for (std::size_t i = 0; i < accesses; ++i) sum += bare.load(i);
                    bench::keep(sum);
                  }
                }}});
    auto const pass = [](pgas::scc::scheduling how) {
      return [how](std::size_t n) {
        for (; n > 0; --n) pass_points(how);
      };
    };
    bench::contender const bare_switches{"bare fiber switch", [](std::size_t n) {
                                           for (; n > 0; --n) switch_fibers();
                                         }};
    b.compare({.name = "scheduling point, by turns", .per_call = points},
              {"emulated", pass(pgas::scc::scheduling::turns)}, {bare_switches});
    b.compare({.name = "scheduling point, random", .per_call = points},
              {"emulated", pass(pgas::scc::scheduling::random)}, {bare_switches});
  });
  if (code != 0) return code;

  std::size_t const rows = options.quick ? 480 : 2400;
  std::size_t const cols = options.quick ? 1024 : 8192;
  std::printf(
      "life %zu x %zu on 48 emulated cores, 10 generations with stage: %.2f s, with the oracle %.2f s\n",
      rows, cols, seconds_of_life<true>(rows, cols, 10, false), seconds_of_life<true>(rows, cols, 10, true));
  std::printf("the same element by element, one generation: %.2f s\n",
              seconds_of_life<false>(rows, cols, 1, false));
  return 0;
}
