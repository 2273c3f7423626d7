// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/layout.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What lies beyond the first and the last index of a dimension.
enum class edge {
  fixed,      ///< ghost cells that keep what the program put there
  periodic,   ///< the other end of the array
  reflecting  ///< the array's mirror image: next to the first cell the first cell again, then the second
};

/// How many ghost cells surround a rank's own cells in one dimension, on each side, and what lies beyond the array:
/// `halo{.width = 1, .edges = edge::periodic}`, or `halo{.width = 1, .after = 2}`.
struct halo {
  std::size_t width = 0;  ///< before the own cells
  edge edges = edge::fixed;
  std::size_t after = width;  ///< behind them: as many, unless told otherwise

  friend constexpr bool operator==(halo, halo) = default;
};

/// A halo for each of N dimensions: one for all, or one each, `{halo{.width = 1}, halo{.width = 2}}`.
template <std::size_t N>
class halos {
 public:
  constexpr halos() = default;
  constexpr halos(halo all) noexcept { each_.fill(all); }  // NOLINT(google-explicit-constructor): the same in all
  template <std::same_as<halo>... More>
    requires(sizeof...(More) + 2 == N)
  constexpr halos(halo first, halo second, More... more) noexcept : each_{first, second, more...} {}

  constexpr halo const& operator[](std::size_t d) const noexcept { return each_[d]; }
  /// The same without those ghost cells that are beyond an edge in two dimensions, or more: a stencil without
  /// diagonals needs none, and fewer neighbours take part.
  [[nodiscard]] constexpr halos without_corners() const noexcept {
    halos other = *this;
    other.corners_ = false;
    return other;
  }
  [[nodiscard]] constexpr bool corners() const noexcept { return corners_; }
  /// As room in a part.
  [[nodiscard]] constexpr margins<N> around() const noexcept {
    margins<N> room;
    for (std::size_t d = 0; d < N; ++d) {
      room.before[d] = each_[d].width;
      room.after[d] = each_[d].after;
    }
    return room;
  }
  [[nodiscard]] constexpr bool any() const noexcept { return around() != margins<N>{}; }
  /// Whether a width is more than an index can say.
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

}  // namespace pgas::inline PGAS_ASSERTIONS
