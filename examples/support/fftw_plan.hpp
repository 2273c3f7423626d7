// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <fftw3.h>

namespace example {

using cell = std::complex<double>;

/// Which lines of a plane are transformed: its rows, its columns, or both.
enum class lines { rows, columns, both };

/// How long FFTW may look for the quickest way. One that is measured differs from run to run, and so does the last bit
/// of its results; an estimated one does not.
enum class effort : unsigned { estimate = FFTW_ESTIMATE, measure = FFTW_MEASURE };

/// A discrete Fourier transform of the lines of a plane of `rows` x `cols` cells without gaps, in place, for any such
/// plane: planned once. Forward and back again multiplies by the number of cells of the lines.
///
/// One that is made by default, or for a plane without cells, does nothing.
class plane_transform {
 public:
  enum direction { forward = FFTW_FORWARD, inverse = FFTW_BACKWARD };

  plane_transform() = default;
  plane_transform(std::size_t rows, std::size_t cols, lines which, direction way, effort how) {
    if (rows * cols == 0) return;
    std::unique_ptr<fftw_complex[], give_back> const scratch(fftw_alloc_complex(rows * cols));
    if (!scratch) throw std::bad_alloc();
    int const r = static_cast<int>(rows);
    int const c = static_cast<int>(cols);
    auto* const at = scratch.get();
    auto const flags = static_cast<unsigned>(how);
    std::lock_guard const one_at_a_time(planner());
    switch (which) {
      case lines::rows:
        plan_.reset(fftw_plan_many_dft(1, &c, r, at, nullptr, 1, c, at, nullptr, 1, c, way, flags));
        break;
      case lines::columns:
        plan_.reset(fftw_plan_many_dft(1, &r, c, at, nullptr, c, 1, at, nullptr, c, 1, way, flags));
        break;
      case lines::both:
        plan_.reset(fftw_plan_dft_2d(r, c, at, at, way, flags));
        break;
    }
    if (!plan_)
      throw std::runtime_error("FFTW has no plan for planes of " + std::to_string(rows) + " x " + std::to_string(cols));
  }

  explicit operator bool() const noexcept { return plan_ != nullptr; }

  /// The cells must be aligned as malloc aligns them, to 16 bytes: FFTW's plans count on it.
  void operator()(cell* plane) const noexcept {
    auto* const cells = reinterpret_cast<fftw_complex*>(plane);
    if (plan_) fftw_execute_dft(plan_.get(), cells, cells);
  }

 private:
  struct give_back {
    void operator()(fftw_complex* cells) const noexcept { fftw_free(cells); }
    void operator()(fftw_plan plan) const noexcept {
      std::lock_guard const one_at_a_time(planner());
      fftw_destroy_plan(plan);
    }
  };

  /// FFTW plans for one thread at a time, and ranks may be threads; it executes for any number of them.
  static std::mutex& planner() noexcept {
    static std::mutex all;
    return all;
  }

  std::unique_ptr<std::remove_pointer_t<fftw_plan>, give_back> plan_;
};

}  // namespace example
