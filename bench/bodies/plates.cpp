// SPDX-License-Identifier: BSL-1.0
// The stencil of the README, and steps 2 to 5 of the tutorial, in the bodies of their programs.
// plain/plates.cpp has the same loops without the library.
#include <algorithm>
#include <pgas/pgas.hpp>
#include <utility>
#include <vector>

#include "bodies/quickest.hpp"

int main() {
  std::size_t const n = unknown<std::size_t>(256);
  constexpr int steps = 400;
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto now = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    quickest time;
    for (int step = 0; step < steps; ++step) {
      pgas::exchange_halo(now);
      time.start();
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::write_only);
        for (std::size_t i = 0; i < now.own_box().count[0]; ++i)
          for (std::size_t j = 0; j < now.own_box().count[1]; ++j)
            v(i, j) = u(i, j) + 0.2 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
      }
      time.stop();
      std::swap(now, next);
    }
    time.print("README's stencil");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto now = pgas::make_array<double>(team, {n + 2, n + 2});
    auto next = pgas::make_array<double>(team, {n + 2, n + 2});
    quickest time;
    for (int step = 0; step < steps; ++step) {
      time.start();
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::read_write);
        for (std::size_t i = 1; i <= n; ++i)
          for (std::size_t j = 1; j <= n; ++j)
            v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
      }
      time.stop();
      std::swap(now, next);
    }
    time.print("tutorial's step 2");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    std::size_t const pitch = n + 2;
    auto now = pgas::make_array<double>(team, {pitch, pitch});
    auto next = pgas::make_array<double>(team, {pitch, pitch});
    std::size_t const own = now.first_row();
    std::size_t const first = std::max<std::size_t>(own, 1);
    std::size_t const last = std::min(own + now.local_rows(), n + 1);
    std::vector<double> rows((last - first + 2) * pitch);
    auto const u = [&](std::size_t i, std::size_t j) { return rows[(i - first + 1) * pitch + j]; };
    quickest time;
    for (int step = 0; step < steps; ++step) {
      {
        pgas::fence epoch{now, pgas::read_only};
        epoch.get({{first - 1, 0}, {last - first + 2, pitch}}, rows);
      }
      time.start();
      {
        auto const v = pgas::stage(next, pgas::read_write);
        for (std::size_t i = first; i < last; ++i)
          for (std::size_t j = 1; j <= n; ++j)
            v(i - own, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
      }
      time.stop();
      std::swap(now, next);
    }
    time.print("tutorial's step 3");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto now = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    quickest time;
    for (int step = 0; step < steps; ++step) {
      pgas::exchange_halo(now);
      time.start();
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::write_only);
        for (std::size_t i = 0; i < now.local_rows(); ++i)
          for (std::size_t j = 0; j < n; ++j)
            v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
      }
      time.stop();
      std::swap(now, next);
    }
    time.print("tutorial's step 4");
  });
  pgas::run<pgas::backends::process_map>(1, [=](auto& team) {
    auto now = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {n, n}, pgas::halo{.width = 1});
    std::size_t const last = now.local_rows() - 1;
    quickest time;
    for (int step = 0; step < steps; ++step) {
      time.start();
      {
        auto const v = pgas::stage(next, pgas::write_only);
        auto const relax = [&](auto const& u, std::size_t first, std::size_t end) {
          for (std::size_t i = first; i < end; ++i)
            for (std::size_t j = 0; j < n; ++j)
              v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
        };
        auto edges = pgas::begin_exchange(now);
        relax(pgas::stage(now, pgas::read_own), 1, last);
        edges.finish();
        auto const u = pgas::stage(now, pgas::read_only);
        relax(u, 0, 1);
        relax(u, last, last + 1);
      }
      time.stop();
      std::swap(now, next);
    }
    time.print("tutorial's step 5");
  });
}
