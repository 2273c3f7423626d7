// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fftw3.h>

#include <complex>
#include <memory>
#include <span>

#include "shapes.hpp"

/// The three-dimensional Fourier transforms of complex numbers that fft3d.cpp and its peers measure.
namespace bench {

using cell = std::complex<double>;
using extents_of_transform = std::array<std::size_t, 3>;  ///< extents, the slowest dimension first

inline std::vector<extents_of_transform> transforms(bool quick) {
  if (quick) return {{128, 128, 128}};
  return {
      {128, 128, 128}, {128, 256, 256}, {256, 256, 256}};  // the second is class A of the NAS benchmark FT
}

inline row_key transform_key(extents_of_transform const& n) {
  return {.row = "fft3d",
          .mode = std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2])};
}

/// The time that a plan of one process may be measured, in seconds.
inline double planning(bool quick) { return quick ? 1 : 10; }

/// Transforms overwrite their input, and its values would grow: each starts from the same numbers.
inline void fill(std::span<cell> cells) {
  double x = 0.3;
  for (cell& c : cells) {
    x = 3.9 * x * (1 - x);
    c = {x, 1 - x};
  }
}

/// A transform as a way of a row, without the time to fill its input. All ranks call it.
template <class Fill, class Step>
way transform_way(meter const& m, std::string_view name, Fill fill_input, Step step) {
  return {name, {}, [&m, fill_input, step](std::size_t iterations) {
            double seconds = 0;
            for (std::size_t i = 0; i < iterations; ++i) {
              fill_input();
              m.align();
              auto const before = std::chrono::steady_clock::now();
              step();
              seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
            }
            return seconds;
          }};
}

/// Cells in FFTW's format, private.
class fftw_cells {
 public:
  explicit fftw_cells(std::size_t count) : size_(count), data_(fftw_alloc_complex(count)) {}
  [[nodiscard]] fftw_complex* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::span<cell> all() const noexcept { return {reinterpret_cast<cell*>(data_.get()), size_}; }

 private:
  struct give_back {
    void operator()(fftw_complex* p) const noexcept { fftw_free(p); }
  };
  std::size_t size_;
  std::unique_ptr<fftw_complex[], give_back> data_;
};

}  // namespace bench
