// SPDX-License-Identifier: BSL-1.0
// The five-point stencil, rows in blocks, against the same loop on the same mapping with flags set by hand: each
// neighbour says "you may write my halo", writes, and says "written".
#include "harness.hpp"

namespace {

/// One iteration of the block: rows 1 to `rows` of `to` from `from`; rows 0 and rows + 1 are the halo.
[[gnu::noinline]] void relax(double* __restrict to, double const* __restrict from, std::size_t rows, std::size_t cols) {
  for (std::size_t r = 1; r <= rows; ++r) {
    double const* const here = from + r * cols;
    double* const out = to + r * cols;
    for (std::size_t c = 1; c + 1 < cols; ++c) {
      out[c] = 0.25 * (here[c - 1] + here[c + 1] + here[c - cols] + here[c + cols]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "heat", {2}, [](auto& b) {
    auto& team = b.team();
    pgas::rank_t const self = team.rank();
    pgas::rank_t const other = 1 - self;
    for (std::size_t const side : {std::size_t{256}, std::size_t{1024}}) {
      std::size_t const rows = side / 2;
      std::size_t const cols = side;
      std::size_t const block = (rows + 2) * cols;
      // Both planes in one part. The halo row that faces the neighbour: below rank 0, above rank 1.
      auto window = pgas::make_window<double>(team, 2 * block);
      double* const mine = window.local().data();
      std::fill(mine, mine + 2 * block, 1.0 + self);
      double* const theirs = window.part(other).data();
      std::size_t const edge = self == 0 ? rows * cols : cols;     // my row at the border
      std::size_t const halo = self == 0 ? 0 : (rows + 1) * cols;  // where it belongs on the other side
      std::string const name = "heat " + std::to_string(side) + " x " + std::to_string(side);
      team.barrier();

      std::size_t now = 0;  // the plane that is read
      auto const lines = b.lines(side == 256 ? 0 : 1);
      auto const me = static_cast<std::size_t>(self);
      std::uint64_t step = 0;
      // The planes alternate in either contender; both leave what the other can go on with.
      b.compare({.name = name, .target = 1.02},
                {"epochs",
                 [&](std::size_t n) {
                   for (; n > 0; --n) {
                     {
                       pgas::exposure exposed{window, {other}};
                       {
                         pgas::access epoch{window, {other}};
                         epoch.put(other, now * block + halo, std::span<double const>(mine + now * block + edge, cols));
                       }
                       exposed.wait();
                     }
                     relax(mine + (1 - now) * block, mine + now * block, rows, cols);
                     now = 1 - now;
                   }
                 }},
                {{"flags by hand", [&](std::size_t n) {
                    for (; n > 0; --n) {
                      ++step;
                      lines.at(me).store(step, std::memory_order_release);
                      bench::raw::spin_until(lines.at(1 - me), step);
                      std::memcpy(theirs + now * block + halo, mine + now * block + edge, cols * sizeof(double));
                      lines.at(2 + me).store(step, std::memory_order_release);
                      bench::raw::spin_until(lines.at(3 - me), step);
                      relax(mine + (1 - now) * block, mine + now * block, rows, cols);
                      now = 1 - now;
                    }
                  }}});
    }
  });
}
