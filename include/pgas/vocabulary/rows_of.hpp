// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE {

/// The elements [first, first + count) of this rank's own part, as the origin side of a transfer.
struct own_part {
  std::size_t first = 0;  ///< in elements of the own part
  std::size_t count = 0;  ///< in elements
};

/// A two-dimensional block of a part, in elements: `rows` rows of `cols` elements each, from `first` on. Rows
/// begin `pitch` elements apart.
///
/// MPI: MPI_Type_vector; OpenSHMEM: ibput and ibget.
struct rows_of {
  std::size_t first = 0;  ///< the first element of the first row, in the part
  std::size_t rows = 0;   ///< the number of rows
  std::size_t cols = 0;   ///< the elements of a row
  std::size_t pitch = 0;  ///< the elements from one row's beginning to the next one's

  /// The position after the last element, relative to `first`; the largest number if the sum overflows.
  [[nodiscard]] constexpr std::size_t reach() const noexcept {
    if (rows == 0 || cols == 0) return 0;
    constexpr std::size_t most = ~std::size_t{0};
    return rows > 1 && pitch > (most - cols) / (rows - 1) ? most : (rows - 1) * pitch + cols;
  }
  /// The number of elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return rows * cols; }
};

/// `count` single elements from `first` on, `stride` elements apart: a block of one column. OpenSHMEM: iput
/// and iget.
constexpr rows_of strided(std::size_t first, std::size_t count, std::size_t stride) noexcept {
  return {.first = first, .rows = count, .cols = 1, .pitch = stride};
}

}  // namespace PGAS_NAMESPACE
