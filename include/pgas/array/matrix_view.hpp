// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <pgas/epoch/local_view.hpp>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// A two-dimensional view of memory in rows, with the interface of std::mdspan for dynamic extents and
/// layout_stride.
///
/// Indices are signed and count from the first cell, so that ghost cells have names: `a(-1, j)` is in the
/// ghost row above. Indices are not checked, and copies view the same memory.
template <class T>
class matrix_view {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using index_type = std::ptrdiff_t;
  using size_type = std::size_t;
  using rank_type = std::size_t;
  using reference = T&;
  using data_handle_type = T*;

  constexpr matrix_view() = default;
  /// A view of `rows` rows from `data` on, `pitch` elements apart; without a pitch, rows are adjacent.
  constexpr matrix_view(T* data, std::size_t rows, std::size_t cols, std::size_t pitch) noexcept
      : data_(data), rows_(rows), cols_(cols), pitch_(static_cast<index_type>(pitch)) {}
  constexpr matrix_view(T* data, std::size_t rows, std::size_t cols) noexcept
      : matrix_view(data, rows, cols, cols) {}
  template <class U>
    requires std::same_as<U const, T>
  constexpr matrix_view(matrix_view<U> other) noexcept  // NOLINT(google-explicit-constructor): adds const
      : matrix_view(other.data_handle(), other.extent(0), other.extent(1),
                    static_cast<std::size_t>(other.stride(0))) {}

  /// The number of dimensions.
  static constexpr rank_type rank() noexcept { return 2; }
  /// The number of rows, d = 0, or of columns, d = 1.
  [[nodiscard]] constexpr size_type extent(rank_type d) const noexcept { return d == 0 ? rows_ : cols_; }
  /// The elements from one row to the next, d = 0, or from one column to the next, d = 1.
  [[nodiscard]] constexpr index_type stride(rank_type d) const noexcept { return d == 0 ? pitch_ : 1; }
  /// The number of cells.
  [[nodiscard]] constexpr size_type size() const noexcept { return rows_ * cols_; }
  /// True if there are no cells.
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  /// The first cell.
  [[nodiscard]] constexpr T* data_handle() const noexcept { return data_; }

  // Any integer type is an index, so that callers need no cast: an unsigned index that wrapped below zero
  // wraps back here. The sum is unsigned, because g++ does not vectorize loops with signed ones.
  /// A cell by its row and column, which may be negative in a halo.
  template <std::integral Row, std::integral Col>
  [[nodiscard]] constexpr T& operator()(Row row, Col col) const noexcept {
    auto const at =
        static_cast<size_type>(row) * static_cast<size_type>(pitch_) + static_cast<size_type>(col);
    return data_[static_cast<index_type>(at)];
  }
  /// A cell by its indices, as in std::mdspan.
  template <std::integral Index>
  [[nodiscard]] constexpr T& operator[](std::array<Index, 2> const& index) const noexcept {
    return (*this)(index[0], index[1]);
  }

  /// The cells of row i.
  template <std::integral Row>
  [[nodiscard]] constexpr std::span<T> row(Row i) const noexcept {
    return {data_ + static_cast<index_type>(i) * pitch_, cols_};
  }
  /// The view of `rows` x `cols` cells from (row, col) on.
  template <std::integral Row, std::integral Col>
  [[nodiscard]] constexpr matrix_view submatrix(Row row, Col col, std::size_t rows,
                                                std::size_t cols) const noexcept {
    return {&(*this)(row, col), rows, cols, static_cast<std::size_t>(pitch_)};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  index_type pitch_ = 0;
};

/// The counterpart of matrix_view for an own part that is not plain memory. Its cells are references that go
/// through this rank's cache, and its rows are random access ranges of such references.
template <class State>
class local_matrix {
 public:
  using value_type = typename State::value_type;
  using index_type = std::ptrdiff_t;
  using size_type = std::size_t;
  using rank_type = std::size_t;
  using reference = local_ref<State>;

  local_matrix() = default;
  /// A view of `rows` rows of the own part, `pitch` elements apart, from element `first` on.
  local_matrix(State& state, std::size_t first, std::size_t rows, std::size_t cols,
               std::size_t pitch) noexcept
      : state_(&state),
        first_(static_cast<index_type>(first)),
        rows_(rows),
        cols_(cols),
        pitch_(static_cast<index_type>(pitch)) {}

  /// The number of dimensions.
  static constexpr rank_type rank() noexcept { return 2; }
  /// The number of rows, d = 0, or of columns, d = 1.
  [[nodiscard]] size_type extent(rank_type d) const noexcept { return d == 0 ? rows_ : cols_; }
  /// The elements from one row to the next, d = 0, or from one column to the next, d = 1.
  [[nodiscard]] index_type stride(rank_type d) const noexcept { return d == 0 ? pitch_ : 1; }
  /// The number of cells.
  [[nodiscard]] size_type size() const noexcept { return rows_ * cols_; }
  /// True if there are no cells.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// A reference to a cell.
  template <std::integral Row, std::integral Col>
  [[nodiscard]] reference operator()(Row row, Col col) const noexcept {
    return {*state_, at(row) + static_cast<std::size_t>(col)};
  }
  /// A reference to a cell.
  template <std::integral Index>
  [[nodiscard]] reference operator[](std::array<Index, 2> const& index) const noexcept {
    return (*this)(index[0], index[1]);
  }
  /// The cells of row i.
  template <std::integral Row>
  [[nodiscard]] local_view<State> row(Row i) const noexcept {
    return {*state_, at(i), cols_};
  }

 private:
  template <std::integral Row>
  [[nodiscard]] std::size_t at(Row row) const noexcept {
    return static_cast<std::size_t>(first_ + static_cast<index_type>(row) * pitch_);
  }

  State* state_ = nullptr;
  index_type first_ = 0;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  index_type pitch_ = 0;
};

}  // namespace PGAS_NAMESPACE
