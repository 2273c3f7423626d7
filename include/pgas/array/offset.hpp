// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// A neighbour of a cell, as steps in each dimension: `offset<-1, 0>` is the cell above.
template <std::ptrdiff_t... Steps>
struct offset {
  static_assert(sizeof...(Steps) >= 1 && sizeof...(Steps) <= 4, "offset: arrays have one to four dimensions");
  /// The number of dimensions.
  static constexpr std::size_t dimensions = sizeof...(Steps);
  /// The steps; negative ones go to smaller indices.
  static constexpr std::array<std::ptrdiff_t, dimensions> steps{Steps...};
};

/// True if a type is an offset.
template <class O>
inline constexpr bool is_offset = false;
template <std::ptrdiff_t... Steps>
inline constexpr bool is_offset<offset<Steps...>> = true;

}  // namespace pgas::inline PGAS_ASSERTIONS
