// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The library's bridge to range-v3, and the only header that includes it.

#include <pgas/global_array.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/join.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What one rank owns of an array: a contiguous range of rows, here or elsewhere. distributed-ranges: a segment.
struct row_segment {
  rank_t owner = 0;
  std::size_t first = 0;  ///< global number of its first row
  std::size_t rows = 0;

  [[nodiscard]] std::size_t size() const noexcept { return rows; }
};

/// The rank that owns a segment.
inline rank_t rank(row_segment const& s) noexcept { return s.owner; }

/// Every rank's segment of an array, in order: a random access view.
template <class Array>
  requires detail::is_global_array<Array>
[[nodiscard]] auto segments(Array const& a) {
  return ranges::views::iota(rank_t{0}, a.ranks()) | ranges::views::transform([rows = a.shape().rows()](rank_t rank) {
           return row_segment{rank, rows.first(rank), rows.local_size(rank)};
         });
}

namespace views {

/// The numbers of the rows that this rank owns: `for (auto row : views::owned_rows(a))`.
template <class Array>
[[nodiscard]] auto owned_rows(Array const& a) {
  return ranges::views::iota(a.first_row(), a.first_row() + a.local_rows());
}

/// The rows of this rank's part, each a view of its own elements; ghost cells left out.
template <class Array>
  requires(Array::dimensions == 2)
[[nodiscard]] auto rows(Array const& a) {
  return ranges::views::iota(std::size_t{0}, a.local_rows()) |
         ranges::views::transform([part = a.window().local(), shape = a.shape()](std::size_t row) {
           auto const first = shape.row_offset(static_cast<std::ptrdiff_t>(row)) + shape.margin();
           auto const all = part.subspan(first, shape.extents()[1]);
           return ranges::subrange(all.begin(), all.end());
         });
}

/// This rank's own elements, row by row; ghost cells left out.
template <class Array>
[[nodiscard]] auto local(Array const& a) {
  if constexpr (Array::dimensions == 1) {
    auto const all =
        a.local_rows() == 0 ? a.window().local() : a.window().local().subspan(a.shape().origin(), a.local_rows());
    return ranges::subrange(all.begin(), all.end());
  } else {
    return rows(a) | ranges::views::join;
  }
}

}  // namespace views

}  // namespace pgas::inline PGAS_ASSERTIONS
