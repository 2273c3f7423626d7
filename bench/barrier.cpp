// SPDX-License-Identifier: BSL-1.0
// A barrier and a fence, against barriers written by hand: spinning on a core each, yielding where ranks share cores.
#include "harness.hpp"

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "barrier", {2, 4, 8}, [](auto& b) {
    auto& team = b.team();
    auto window = pgas::make_window<double>(team, 16);
    auto const ranks = static_cast<std::uint64_t>(team.size());
    auto const lines = b.lines();
    bench::raw::central_barrier const central{lines.at(0), lines.at(1), ranks};
    bench::contender const barrier{"barrier", [&](std::size_t n) {
                                     for (std::size_t i = 0; i < n; ++i) team.barrier();
                                   }};
    pgas::fence epoch{window};
    bench::contender const fence{"fence", [&](std::size_t n) {
                                   for (std::size_t i = 0; i < n; ++i) epoch.next();
                                 }};
    if (!b.oversubscribed() && team.size() == 2) {
      auto const self = static_cast<std::size_t>(team.rank());
      bench::raw::pair_barrier pair{lines.at(2 + self), lines.at(3 - self)};
      bench::contender const flags{"spin on flags", [&](std::size_t n) {
                                     for (std::size_t i = 0; i < n; ++i) pair.pass();
                                   }};
      bench::contender const counter{"spin on a counter", [&](std::size_t n) {
                                       for (std::size_t i = 0; i < n; ++i) central.pass(1 << 30);
                                     }};
      b.compare({.name = "barrier", .target = 1.3}, barrier, {flags, counter});
      b.compare({.name = "fence", .target = 1.3}, fence, {flags, counter});
    } else {
      auto const yielding = [&](int spins) {
        return bench::contender{"spin " + std::to_string(spins) + ", then yield", [&central, spins](std::size_t n) {
                                  for (std::size_t i = 0; i < n; ++i) central.pass(spins);
                                }};
      };
      b.compare({.name = "barrier, ranks share cores", .target = 1.0}, barrier, {yielding(0), yielding(40), yielding(400)});
      b.compare({.name = "fence, ranks share cores", .target = 1.0}, fence, {yielding(0), yielding(40), yielding(400)});
    }
  });
}
