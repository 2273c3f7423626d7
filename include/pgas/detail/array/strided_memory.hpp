// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Memory in N dimensions, the last one contiguous: a pointer to the first own cell, and the distances to
/// neighbours.
template <class T, std::size_t N>
struct strided_memory {
  T* first;
  std::array<std::ptrdiff_t, N> pitches;

  [[nodiscard]] constexpr T* at(std::array<std::ptrdiff_t, N> const& index) const noexcept {
    std::ptrdiff_t sum = index[N - 1];
    for (std::size_t d = 0; d + 1 < N; ++d) sum += index[d] * pitches[d];
    return first + sum;
  }
};

/// The memory of a span, a matrix_view or a box_view.
template <std::size_t N, class View>
constexpr auto memory_of(View const& v) noexcept {
  if constexpr (N == 1) {
    return strided_memory<std::remove_reference_t<decltype(*v.data())>, 1>{v.data(), {1}};
  } else {
    strided_memory<std::remove_reference_t<decltype(*v.data_handle())>, N> memory{v.data_handle(), {}};
    for (std::size_t d = 0; d < N; ++d) memory.pitches[d] = v.stride(d);
    return memory;
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
