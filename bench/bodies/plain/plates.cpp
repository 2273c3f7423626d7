// SPDX-License-Identifier: BSL-1.0
// The loops of ../plates.cpp in plain programs: step 1 of the tutorial, and its like.
#include <utility>
#include <vector>

#include "bodies/quickest.hpp"

namespace {

constexpr int steps = 400;

void readme(std::size_t n) {
  std::size_t const pitch = n + 2;
  std::vector<double> now(pitch * pitch), next(pitch * pitch);
  quickest time;
  for (int step = 0; step < steps; ++step) {
    time.start();
    for (std::size_t i = 1; i <= n; ++i)
      for (std::size_t j = 1; j <= n; ++j) {
        double const* const u = &now[i * pitch + j];
        next[i * pitch + j] = *u + 0.2 * (*(u - pitch) + u[pitch] + *(u - 1) + u[1] - 4 * *u);
      }
    time.stop();
    std::swap(now, next);
  }
  time.print("README's stencil");
}

void tutorial(std::size_t n) {
  std::size_t const pitch = n + 2;
  std::vector<double> now(pitch * pitch), next(pitch * pitch);
  quickest time;
  for (int step = 0; step < steps; ++step) {
    time.start();
    for (std::size_t i = 1; i <= n; ++i)
      for (std::size_t j = 1; j <= n; ++j) {
        double const* const u = &now[i * pitch + j];
        next[i * pitch + j] = 0.25 * (*(u - pitch) + u[pitch] + *(u - 1) + u[1]);
      }
    time.stop();
    std::swap(now, next);
  }
  for (char const* step :
       {"tutorial's step 2", "tutorial's step 3", "tutorial's step 4", "tutorial's step 5"})
    time.print(step);
}

}  // namespace

int main() {
  std::size_t const n = unknown<std::size_t>(256);
  readme(n);
  tutorial(n);
}
