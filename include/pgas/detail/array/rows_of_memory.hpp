// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <pgas/array/part_box.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The rows of a box in memory: the place of the first row, and the way from each row to the next.
template <class T, std::size_t N>
struct rows_of_memory {
  T* first = nullptr;
  std::array<std::ptrdiff_t, N> pitches{};
  /// The number of rows in the dimensions before the last, and the cells of a row.
  std::array<std::size_t, N> counts{};
};

/// A view of memory with the interface of std::mdspan, whose last dimension is contiguous.
template <class View, std::size_t N>
concept memory_view = requires(View const& v) {
  requires std::remove_cvref_t<View>::rank() == N;
  { v.data_handle() } -> std::same_as<typename View::element_type*>;
  { v.stride(0) } -> std::convertible_to<std::ptrdiff_t>;
};

/// The rows of a box of a view, counted from the view's first cell.
template <std::size_t N, memory_view<N> View>
rows_of_memory<typename View::element_type, N> rows_of_box(View const& v, part_box<N> const& box) noexcept {
  if (box.empty()) return {};
  rows_of_memory<typename View::element_type, N> rows{v.data_handle(), {}, box.counts()};
  for (std::size_t d = 0; d < N; ++d) {
    rows.pitches[d] = static_cast<std::ptrdiff_t>(v.stride(d));
    rows.first += box.first[d] * rows.pitches[d];
  }
  return rows;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
