// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

/// The time of the quickest of some sweeps, with and without the library.
class quickest {
 public:
  void start() { started_ = clock::now(); }
  void stop() {
    least_ = std::min(least_, std::chrono::duration<double>(clock::now() - started_).count());
    asm volatile("" : : : "memory");  // what the sweep stored is read
  }
  /// Prints the row that ../bodies.py reads.
  void print(char const* kernel) const { std::printf("%s %.9f\n", kernel, least_); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point started_;
  double least_ = std::numeric_limits<double>::max();
};

/// A number that the compiler does not know.
template <class T>
T unknown(T number) {
  asm volatile("" : "+r"(number));
  return number;
}
