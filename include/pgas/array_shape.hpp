// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <pgas/distribution.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What is beyond the edge of an array's domain.
enum class edge {
  fixed,     ///< ghost cells that keep what the program stores there: a boundary value
  periodic,  ///< the opposite edge: a torus
};

/// The ghost cells around a rank's part: how many in each direction, and what they copy at the domain's edge.
struct halo {
  std::size_t width = 0;
  edge edges = edge::fixed;

  friend constexpr bool operator==(halo, halo) = default;
};

/// A box of an array of N dimensions: [first, first + extent) in each.
template <std::size_t N>
struct box {
  std::array<std::size_t, N> first{};
  std::array<std::size_t, N> extent{};
};

/// Where the elements of a distributed array of one or two dimensions lie: which rank's part, and where in it.
///
/// The first dimension is distributed by blocks. A part holds its rank's rows with `halo.width` ghost rows before and
/// after them; in two dimensions each row has as many ghost cells before and after it, too. A rank that owns
/// no row has an empty part.
template <std::size_t N>
  requires(N == 1 || N == 2)
class array_shape {
 public:
  constexpr array_shape(std::array<std::size_t, N> extents, pgas::halo ghosts, rank_t ranks) noexcept
      : extents_(extents), halo_(ghosts), rows_(extents[0], ranks) {}

  [[nodiscard]] constexpr std::array<std::size_t, N> const& extents() const noexcept { return extents_; }
  [[nodiscard]] constexpr pgas::halo halo() const noexcept { return halo_; }
  /// The distribution of the first dimension.
  [[nodiscard]] constexpr block const& rows() const noexcept { return rows_; }

  /// Elements in a row of a part: own ones, and ghost cells on both sides.
  [[nodiscard]] constexpr std::size_t pitch() const noexcept {
    if constexpr (N == 1) {
      return 1;
    } else {
      return extents_[1] + 2 * halo_.width;
    }
  }
  /// Ghost cells before the first own cell of a row.
  [[nodiscard]] constexpr std::size_t margin() const noexcept { return N == 1 ? 0 : halo_.width; }

  /// Elements in a rank's part, ghost cells included; the largest number if that overflows.
  [[nodiscard]] constexpr std::size_t part_size(rank_t rank) const noexcept {
    std::size_t const own = rows_.local_size(rank);
    if (own == 0) return 0;
    constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
    std::size_t const last = N == 1 ? 1 : extents_[N - 1];
    if (halo_.width > largest / 4 || own > largest / 4 || last > largest / 4) return largest;
    std::size_t const rows = own + 2 * halo_.width;
    return pitch() != 0 && rows > largest / pitch() ? largest : rows * pitch();
  }

  /// Where row `row`, counted from the first own one of `rank`, begins in that rank's part; ghost rows are negative or
  /// past the own ones.
  [[nodiscard]] constexpr std::size_t row_offset(std::ptrdiff_t row) const noexcept {
    return static_cast<std::size_t>(row + static_cast<std::ptrdiff_t>(halo_.width)) * pitch();
  }
  /// Where the first own element lies in a part.
  [[nodiscard]] constexpr std::size_t origin() const noexcept { return row_offset(0) + margin(); }

  [[nodiscard]] constexpr bool contains(std::array<std::size_t, N> const& i) const noexcept {
    for (std::size_t d = 0; d < N; ++d) {
      if (i[d] >= extents_[d]) return false;
    }
    return true;
  }
  [[nodiscard]] constexpr rank_t owner(std::array<std::size_t, N> const& i) const noexcept { return rows_.owner(i[0]); }
  /// Where an element lies in its owner's part.
  [[nodiscard]] constexpr std::size_t offset(std::array<std::size_t, N> const& i) const noexcept {
    std::size_t const in_row = N == 1 ? 0 : i[N - 1];
    return row_offset(static_cast<std::ptrdiff_t>(rows_.local_index(i[0]))) + margin() + in_row;
  }

  friend constexpr bool operator==(array_shape const&, array_shape const&) = default;

 private:
  std::array<std::size_t, N> extents_;
  pgas::halo halo_;
  block rows_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
