// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE {

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

/// The reach of a stencil of these offsets: the distances of its farthest neighbours.
template <class... Offsets>
  requires(sizeof...(Offsets) > 0 && (is_offset<Offsets> && ...))
struct stencil_reach {
  /// The number of dimensions of the offsets.
  static constexpr std::size_t dimensions = std::max({Offsets::dimensions...});
  static_assert(((Offsets::dimensions == dimensions) && ...),
                "stencil: all offsets must have the same number of dimensions");
  /// The number of offsets, which is the number of values of a field that a kernel takes.
  static constexpr std::size_t offsets = sizeof...(Offsets);
  using index_type = std::array<std::size_t, dimensions>;

  /// The reach before a cell in each dimension: the ghost cells that the stencil needs there.
  static constexpr index_type before = [] {
    index_type most{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      for (std::ptrdiff_t s : {Offsets::steps[d]...})
        most[d] = std::max(most[d], s < 0 ? std::size_t(0) - std::size_t(s) : 0);
    }
    return most;
  }();
  /// The reach behind a cell in each dimension.
  static constexpr index_type after = [] {
    index_type most{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      for (std::ptrdiff_t s : {Offsets::steps[d]...}) most[d] = std::max(most[d], s > 0 ? std::size_t(s) : 0);
    }
    return most;
  }();
  /// True if a neighbour differs in two dimensions at once, so that the stencil needs ghost cells in corners.
  static constexpr bool is_diagonal = [] {
    auto const moves = [](auto const& steps) {
      return std::count_if(steps.begin(), steps.end(), [](std::ptrdiff_t s) { return s != 0; });
    };
    return ((moves(Offsets::steps) > 1) || ...);
  }();
};

}  // namespace PGAS_NAMESPACE
