// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <fftw3.h>

namespace example {

using cell = std::complex<double>;

/// The lines of a plane that are transformed: its rows, its columns, or both.
enum class lines { rows, columns, both };

struct fftw_free_memory {
  void operator()(fftw_complex* cells) const noexcept { fftw_free(cells); }
};
/// Cells with the alignment that FFTW needs.
using fftw_memory = std::unique_ptr<fftw_complex[], fftw_free_memory>;

/// The time that FFTW may spend on its search for the quickest plan. A measured plan differs from run to run,
/// and so does the last bit of its results. An estimated plan does not.
enum class effort : unsigned { estimate = FFTW_ESTIMATE, measure = FFTW_MEASURE };

/// A discrete Fourier transform of the lines of a plane of `rows` x `cols` cells without gaps, in place.
/// Planned once for all such planes. Forward and back again multiplies by the number of cells of the lines.
///
/// A default-constructed transform, or one for a plane without cells, does nothing.
class plane_transform {
 public:
  enum direction { forward = FFTW_FORWARD, inverse = FFTW_BACKWARD };

  plane_transform() = default;
  plane_transform(std::size_t rows, std::size_t cols, lines which, direction way, effort how) {
    if (rows * cols == 0) return;
    fftw_memory const scratch(fftw_alloc_complex(rows * cols));
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
      throw std::runtime_error("FFTW has no plan for planes of " + std::to_string(rows) + " x " +
                               std::to_string(cols));
  }

  explicit operator bool() const noexcept { return plan_ != nullptr; }

  /// The cells must be aligned to 16 bytes, as malloc aligns them: FFTW's plans rely on it.
  void operator()(cell* plane) const noexcept {
    auto* const cells = reinterpret_cast<fftw_complex*>(plane);
    if (plan_) fftw_execute_dft(plan_.get(), cells, cells);
  }

 private:
  struct give_back {
    void operator()(fftw_plan plan) const noexcept {
      std::lock_guard const one_at_a_time(planner());
      fftw_destroy_plan(plan);
    }
  };

  /// FFTW plans for one thread at a time, and ranks may be threads. It executes for any number of threads.
  static std::mutex& planner() noexcept {
    static std::mutex all;
    return all;
  }

  std::unique_ptr<std::remove_pointer_t<fftw_plan>, give_back> plan_;
};

/// The same transform of the rows or of the columns of a plane, a few lines at once. It gathers lines from
/// any place, transforms them while they are in the first cache, and hands them on.
///
/// A transform of columns in place walks over so many pages and lines at equal distances that no cache keeps
/// them (Frigo and Johnson 2005 copy such columns too). A default-constructed transform, or one for a plane
/// without cells, does nothing.
class line_transform {
 public:
  line_transform() = default;
  line_transform(std::size_t rows, std::size_t cols, lines which, plane_transform::direction way, effort how)
      : count_{rows, cols}, along_(which == lines::rows ? 1 : 0) {
    if (which == lines::both) throw std::logic_error("line_transform: name rows or columns");
    if (rows * cols == 0) return;
    std::size_t const fit = first_cache / (count_[along_] * sizeof(cell));
    at_once_ = std::min(std::max(fit - fit % line, line), count_[1 - along_]);
    batch_.reset(fftw_alloc_complex(at_once_ * count_[along_]));
    if (!batch_) throw std::bad_alloc();
    auto const plan = [&](std::size_t n) {
      return along_ == 1 ? plane_transform(n, cols, which, way, how)
                         : plane_transform(rows, n, which, way, how);
    };
    all_ = plan(at_once_);
    if (std::size_t const rest = count_[1 - along_] % at_once_; rest != 0) rest_ = plan(rest);
  }

  /// Calls bring(first row and column, rows and columns, cells), which stores the cells of those lines, and
  /// then take(the same) with their transform.
  template <class Bring, class Take>
  void operator()(Bring&& bring, Take&& take) const {
    if (!batch_) return;
    std::size_t const across = 1 - along_;
    std::array<std::size_t, 2> first{};
    auto count = count_;
    for (; first[across] < count_[across]; first[across] += at_once_) {
      count[across] = std::min(at_once_, count_[across] - first[across]);
      std::span const cells(reinterpret_cast<cell*>(batch_.get()), count[0] * count[1]);
      bring(first, count, cells);
      (count[across] == at_once_ ? all_ : rest_)(cells.data());
      take(first, count, cells);
    }
  }

 private:
  static constexpr std::size_t first_cache = 32 * 1024;   // the bytes of it that a batch may use
  static constexpr std::size_t line = 64 / sizeof(cell);  // fewer columns would share lines with others

  std::array<std::size_t, 2> count_{};
  std::size_t along_ = 0;  // the dimension that is transformed
  std::size_t at_once_ = 1;
  fftw_memory batch_;
  plane_transform all_;
  plane_transform rest_;
};

}  // namespace example
