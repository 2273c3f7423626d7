// SPDX-License-Identifier: BSL-1.0
// The five-point stencil on global_array, as examples/heat writes it, against the same loop with raw pointers and flags
// on the same memory: each neighbour says "you may write my ghost row", writes, and says "written".
#include <pgas/halo.hpp>

#include "harness.hpp"

namespace {

/// One iteration by hand over rows of `pitch` elements.
[[gnu::noinline]] void relax(double* __restrict to, double const* __restrict from, std::size_t rows, std::size_t cols,
                             std::size_t pitch) {
  for (std::size_t r = 0; r < rows; ++r, to += pitch, from += pitch) {
    for (std::size_t c = 0; c < cols; ++c) {
      to[c] = 0.25 * (from[c - pitch] + from[c + pitch] + from[c - 1] + from[c + 1]);
    }
  }
}

/// One iteration as examples/heat writes it. What the compiler is not told here is that u and v do not overlap: it
/// asks in each row.
template <class Array>
[[gnu::noinline]] void relax_by_index(Array const& next, Array const& now) {
  auto const u = pgas::stage<pgas::read>(now);
  auto const v = pgas::stage<pgas::write>(next);
  for (std::size_t i = 0; i < now.local_rows(); ++i)
    for (std::size_t j = 0; j < now.extent(1); ++j)
      v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
}

/// The same by the loop of the baseline.
template <class Array>
void relax_by_pointer(Array const& next, Array const& now) {
  auto const u = pgas::stage<pgas::read>(now);
  auto const v = pgas::stage<pgas::write>(next);
  relax(v.data(), u.data(), now.local_rows(), now.extent(1), now.shape().pitch());
}

}  // namespace

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "heat", {2}, [](auto& b) {
    auto& team = b.team();
    auto const self = static_cast<std::size_t>(team.rank());
    for (std::size_t const side : {std::size_t{256}, std::size_t{1024}}) {
      auto now = pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1});
      auto next = pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1});
      std::size_t const rows = side / 2;
      std::size_t const pitch = now.shape().pitch();
      for (auto* array : {&now, &next}) {
        auto const cells = pgas::stage<pgas::write>(*array);
        for (std::size_t i = 0; i < rows; ++i) std::fill_n(&cells(i, 0), side, 1.0 + static_cast<double>(self));
      }
      team.barrier();

      auto const lines = b.lines(side == 256 ? 0 : 1);
      std::uint64_t step = 0;
      // All swap the arrays, and leave what the others can go on with.
      auto const ours = [&](auto relax_one) {
        return [&, relax_one](std::size_t n) {
          for (; n > 0; --n) {
            pgas::exchange_halo(now);
            relax_one(next, now);
            std::swap(now, next);
          }
        };
      };
      bench::contender const by_hand{
          "flags by hand", [&](std::size_t n) {
            for (; n > 0; --n) {
              double* const mine = now.local().data_handle();
              double* const theirs = now.window().part(team.rank() == 0 ? 1 : 0).data() + now.shape().origin();
              ++step;
              lines.at(self).store(step, std::memory_order_release);
              bench::raw::spin_until(lines.at(1 - self), step);
              if (self == 0) {  // my last row goes above the first of rank 1, whose first goes below my last
                std::memcpy(theirs - pitch, mine + (rows - 1) * pitch, side * sizeof(double));
              } else {
                std::memcpy(theirs + rows * pitch, mine, side * sizeof(double));
              }
              lines.at(2 + self).store(step, std::memory_order_release);
              bench::raw::spin_until(lines.at(3 - self), step);
              relax(next.local().data_handle(), mine, rows, side, pitch);
              std::swap(now, next);
            }
          }};
      std::string const name = "heat " + std::to_string(side) + " x " + std::to_string(side);
      b.compare({.name = name, .target = 1.02},
                {"global_array", ours([](auto const& to, auto const& from) { relax_by_pointer(to, from); })},
                {by_hand});
      b.compare({.name = name + " by u(i, j)"},
                {"global_array", ours([](auto const& to, auto const& from) { relax_by_index(to, from); })}, {by_hand});
    }
  });
}
