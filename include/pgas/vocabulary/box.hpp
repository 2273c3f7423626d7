// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace PGAS_NAMESPACE {

/// A box of cells: `count[d]` consecutive indices from `first[d]` on, in each dimension d.
template <std::size_t N>
struct box {
  std::array<std::size_t, N> first{};  ///< the smallest index in each dimension
  std::array<std::size_t, N> count{};  ///< the number of indices in each dimension

  /// The number of cells.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t cells = 1;
    for (std::size_t c : count) cells *= c;
    return cells;
  }
  /// Returns whether the box lies within [0, extents).
  [[nodiscard]] constexpr bool is_within(std::array<std::size_t, N> const& extents) const noexcept {
    for (std::size_t d = 0; d < N; ++d) {
      if (count[d] > extents[d] || first[d] > extents[d] - count[d]) return false;
    }
    return true;
  }
  friend constexpr bool operator==(box const&, box const&) = default;
};

/// The cells that lie in both boxes; empty if there are none.
template <std::size_t N>
constexpr box<N> intersection(box<N> const& a, box<N> const& b) noexcept {
  box<N> both;
  for (std::size_t d = 0; d < N; ++d) {
    std::size_t const end_a = a.first[d] + a.count[d];
    std::size_t const end_b = b.first[d] + b.count[d];
    std::size_t const end = end_a < end_b ? end_a : end_b;
    both.first[d] = a.first[d] < b.first[d] ? b.first[d] : a.first[d];
    both.count[d] = both.first[d] < end ? end - both.first[d] : 0;
  }
  return both;
}

namespace detail {

/// Numbers as messages show them: `joined({10, 4}, " x ")` is "10 x 4".
template <class Numbers>
std::string joined(Numbers const& numbers, char const* between) {
  std::string text;
  for (auto const& number : numbers)
    append_text(text, {text.empty() ? "" : between, as_given(static_cast<std::size_t>(number))});
  return text;
}

/// Advances to the next index below `count` in row-major order, in the first `dimensions` dimensions only.
/// Returns false after the last index.
template <std::size_t N>
constexpr bool advance(std::array<std::size_t, N>& index, std::array<std::size_t, N> const& count,
                       std::size_t dimensions = N) noexcept {
  for (std::size_t d = dimensions; d-- > 0;) {
    if (++index[d] < count[d]) return true;
    index[d] = 0;
  }
  return false;
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
