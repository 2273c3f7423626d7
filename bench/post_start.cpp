// SPDX-License-Identifier: BSL-1.0
// A round of post, start, put, complete and wait between two ranks, against what it cannot do without: a line handed
// over by the target, and one handed back by the origin.
#include "harness.hpp"

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "post_start", {2}, [](auto& b) {
    auto& team = b.team();
    using window_type = decltype(pgas::make_window<double>(team, 16));
    std::vector<window_type> windows;
    for (std::size_t i = 0; i < b.places; ++i) windows.push_back(pgas::make_window<double>(team, 16));
    auto const here = [&]() -> window_type& { return windows[b.place()]; };
    auto const self = static_cast<std::size_t>(team.rank());
    pgas::rank_t const other = 1 - team.rank();
    bool const is_target = team.rank() == 1;
    std::uint64_t round = 0;

    b.compare({.name = "post, start, put, complete, wait", .target = 1.5},
              {"epochs",
               [&](std::size_t n) {
                 auto& window = here();
                 for (; n > 0; --n) {
                   if (is_target) {
                     pgas::exposure exposed{window, {0}};
                     exposed.wait();
                   } else {
                     pgas::access epoch{window, {1}};
                     epoch.put(1, 0, static_cast<double>(n));
                     epoch.complete();
                   }
                 }
               }},
              {{"two hand-overs and a store", [&](std::size_t n) {
                  auto const lines = b.lines(b.place());
                  double* const base = here().part(1).data();
                  for (; n > 0; --n) {
                    ++round;
                    if (is_target) {
                      lines.at(0).store(round, std::memory_order_release);
                      bench::raw::spin_until(lines.at(1), round);
                    } else {
                      bench::raw::spin_until(lines.at(0), round);
                      base[0] = static_cast<double>(n);
                      lines.at(1).store(round, std::memory_order_release);
                    }
                  }
                }}});

    // Both ways at once, as neighbours in a halo exchange do.
    b.compare({.name = "the same, both ways at once", .target = 1.5},
              {"epochs",
               [&](std::size_t n) {
                 auto& window = here();
                 for (; n > 0; --n) {
                   pgas::exposure exposed{window, {other}};
                   {
                     pgas::access epoch{window, {other}};
                     epoch.put(other, 0, static_cast<double>(n));
                   }
                   exposed.wait();
                 }
               }},
              {{"two hand-overs and a store", [&](std::size_t n) {
                  auto const lines = b.lines(b.place());
                  double* const there = here().part(other).data();
                  for (; n > 0; --n) {
                    ++round;
                    lines.at(2 + self).store(round, std::memory_order_release);
                    bench::raw::spin_until(lines.at(3 - self), round);
                    there[0] = static_cast<double>(n);
                    lines.at(4 + self).store(round, std::memory_order_release);
                    bench::raw::spin_until(lines.at(5 - self), round);
                  }
                }}});
  });
}
