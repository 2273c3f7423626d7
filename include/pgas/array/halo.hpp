// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/layout.hpp>

namespace PGAS_NAMESPACE {

/// The cells beyond the first and the last index of a dimension.
enum class edge {
  fixed,      ///< ghost cells that keep the values the program stores there
  periodic,   ///< the other end of the array
  reflecting  ///< the mirror image of the array: beside the first cell, the first cell again, then the second
};

/// The number of ghost cells around a rank's own cells in one dimension, and the cells beyond the array:
/// `halo{.width = 1, .edges = edge::periodic}`, or `halo{.width = 1, .after = 2}`.
struct halo {
  std::size_t width = 0;      ///< ghost cells before the own cells
  edge edges = edge::fixed;   ///< the cells beyond the array's first and last index
  std::size_t after = width;  ///< ghost cells behind the own cells; `width` by default

  friend constexpr bool operator==(halo, halo) = default;
};

namespace detail {

/// What a halo in braces without its name is.
struct halo_without_name {
  std::size_t width = 0;
  edge edges = edge::fixed;
  std::size_t after = width;
};

}  // namespace detail

/// A halo for each of N dimensions: one for all, or one each as in `{halo{.width = 1}, halo{.width = 2}}`.
template <std::size_t N>
class halos {
 public:
  constexpr halos() = default;
  /// The same halo in all dimensions, so not explicit.
  constexpr halos(halo all) noexcept { each_.fill(all); }
  template <std::same_as<halo>... More>
    requires(sizeof...(More) + 2 == N)
  constexpr halos(halo first, halo second, More... more) noexcept : each_{first, second, more...} {}

  /// The halo of dimension d.
  constexpr halo const& operator[](std::size_t d) const noexcept { return each_[d]; }
  /// The same halos without corners: those ghost cells that lie beyond an edge in two or more dimensions. A
  /// stencil without diagonals needs no corners, and fewer neighbours then take part in an exchange.
  [[nodiscard]] constexpr halos without_corners() const noexcept {
    halos other = *this;
    other.corners_ = false;
    return other;
  }
  /// True if an exchange also fills the corners.
  [[nodiscard]] constexpr bool corners() const noexcept { return corners_; }
  /// The halos as margins of a part.
  [[nodiscard]] constexpr margins<N> around() const noexcept {
    margins<N> room;
    for (std::size_t d = 0; d < N; ++d) {
      room.before[d] = each_[d].width;
      room.after[d] = each_[d].after;
    }
    return room;
  }
  /// True if there are ghost cells in some dimension.
  [[nodiscard]] constexpr bool any() const noexcept { return around() != margins<N>{}; }
  /// True if a width overflows an index.
  [[nodiscard]] constexpr bool overflow() const noexcept {
    constexpr std::size_t most = PTRDIFF_MAX / 4;
    for (halo const& h : each_) {
      if (h.width > most || h.after > most) return true;
    }
    return false;
  }
  friend constexpr bool operator==(halos const&, halos const&) = default;

 private:
  std::array<halo, N> each_{};
  bool corners_ = true;
};

}  // namespace PGAS_NAMESPACE
