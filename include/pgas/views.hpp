// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/global_array.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The piece of an array that one rank owns, seen from any rank: whose it is, which cells, and their memory where
/// this rank can reach it.
///
/// Valid as long as its array stays where it is. Named after distributed-ranges' remote segments.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
class array_segment {
 public:
  using value_type = typename Array::value_type;

  array_segment(Array const& a, rank_t rank) noexcept : array_(&a), rank_(rank) {}

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  /// Its cells in global indices.
  [[nodiscard]] typename Array::box_type box() const noexcept { return array_->shape().box_of(rank_); }
  [[nodiscard]] std::size_t first_row() const noexcept { return box().first[0]; }
  [[nodiscard]] std::size_t size() const noexcept { return box().size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool is_own() const noexcept { return rank_ == array_->rank(); }

  /// Its memory, a span, a matrix_view or a box_view, on whatever rank it is: for code that synchronizes by itself, on
  /// coherent shared memory.
  [[nodiscard]] auto local() const
    requires Array::state_type::is_direct
  {
    auto const& layout = array_->layout();
    auto* const first = array_->window().part(rank_).data() + (empty() ? 0 : layout.origin(rank_));
    return detail::view_of_memory(first, box().count, layout.pitches(rank_));
  }

 private:
  Array const* array_;
  rank_t rank_;
};

namespace detail {

/// All cells of a matrix in one sequence, row after row, without a division.
template <class Matrix>
class cells_view : public ranges::view_facade<cells_view<Matrix>, ranges::finite> {
  friend ranges::range_access;

  class cursor {
   public:
    using value_type = typename Matrix::value_type;

    cursor() = default;
    cursor(Matrix const& m, std::ptrdiff_t row) noexcept : matrix_(m), row_(row) {}

    [[nodiscard]] decltype(auto) read() const noexcept { return matrix_(row_, col_); }
    [[nodiscard]] bool equal(cursor const& other) const noexcept { return row_ == other.row_ && col_ == other.col_; }
    void next() noexcept {
      if (++col_ == cols()) {
        col_ = 0;
        ++row_;
      }
    }
    void prev() noexcept {
      if (col_-- == 0) {
        col_ = cols() - 1;
        --row_;
      }
    }
    void advance(std::ptrdiff_t n) noexcept {
      if (n == 0) return;
      std::ptrdiff_t const at = row_ * cols() + col_ + n;
      row_ = at / cols();
      col_ = at % cols();
    }
    [[nodiscard]] std::ptrdiff_t distance_to(cursor const& other) const noexcept {
      return (other.row_ - row_) * cols() + other.col_ - col_;
    }

   private:
    [[nodiscard]] std::ptrdiff_t cols() const noexcept { return static_cast<std::ptrdiff_t>(matrix_.extent(1)); }

    Matrix matrix_{};
    std::ptrdiff_t row_ = 0;
    std::ptrdiff_t col_ = 0;
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return {matrix_, 0}; }
  [[nodiscard]] cursor end_cursor() const noexcept {
    return {matrix_, matrix_.empty() ? 0 : static_cast<std::ptrdiff_t>(matrix_.extent(0))};
  }

  Matrix matrix_{};

 public:
  cells_view() = default;
  explicit cells_view(Matrix const& m) noexcept : matrix_(m) {}
};

/// A row or a part as a range-v3 view: a pair of iterators.
template <class Sequence>
auto as_view(Sequence const& s) {
  return ranges::make_subrange(s.begin(), s.end());
}

}  // namespace detail

/// The pieces of an array in rank order, empty ones included: `for (auto s : segments(a))`. Local. Of layouts whose
/// ranks own one box each; tiles() is for all.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto segments(Array const& a) {
  return ranges::views::transform(ranges::views::iota(rank_t{0}, a.ranks()),
                                  [array = &a](rank_t r) { return array_segment<Array>(*array, r); });
}

/// Whose piece it is.
template <any_global_array Array>
[[nodiscard]] rank_t rank(array_segment<Array> const& s) noexcept {
  return s.rank();
}

/// What of it is memory of this rank: a.local().
template <any_global_array Array>
[[nodiscard]] auto local(Array const& a) {
  return a.local();
}
template <any_global_array Array>
[[nodiscard]] auto local(array_segment<Array> const& s)
  requires Array::state_type::is_direct
{
  return s.local();
}

namespace views {

/// This rank's own cells in one sequence, row after row, as a random access view: `views::local(a) |
/// ranges::views::transform(f)`. On every backend; references go through this rank's cache where there is one.
template <any_global_array Array>
  requires(Array::dimensions <= 2 && matrix_layout<typename Array::layout_type>)
[[nodiscard]] auto local(Array const& a) {
  if constexpr (Array::dimensions == 1) {
    return detail::as_view(a.local());
  } else {
    return detail::cells_view(a.local());
  }
}

/// This rank's own rows, each a random access view.
template <any_global_array Array>
  requires(Array::dimensions == 2)
[[nodiscard]] auto rows(Array const& a) {
  auto const matrix = a.local();
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, matrix.extent(0)),
                                  [matrix](std::size_t i) { return detail::as_view(matrix.row(i)); });
}

}  // namespace views

}  // namespace pgas::inline PGAS_ASSERTIONS
