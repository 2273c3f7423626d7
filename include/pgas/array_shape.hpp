// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <pgas/box.hpp>
#include <pgas/distributions/block.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What lies beyond the first and the last index of a dimension.
enum class edge {
  fixed,    ///< ghost cells that keep what the program put there
  periodic  ///< the other end of the array
};

/// How many ghost cells surround a rank's own cells in one dimension, on each side, and what lies beyond the array.
struct halo {
  std::size_t width = 0;
  edge edges = edge::fixed;

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
  friend constexpr bool operator==(halos const&, halos const&) = default;

 private:
  std::array<halo, N> each_{};
};

/// Which rank owns which cells of an array, and where they lie in its part: all that is known without communication.
///
/// Dimension 0 is in blocks; the other dimensions are whole on every rank. A *row* is all cells with one index in
/// dimension 0. A part is the rank's rows with `halo(0).width` ghost rows before and after, each with its ghost
/// cells at both ends, one row `pitch()` elements after the other. A rank that owns no rows has no part.
template <std::size_t N>
class array_shape {
  static_assert(N == 1 || N == 2, "array_shape: arrays have one dimension or two");

 public:
  constexpr array_shape(std::array<std::size_t, N> const& extents, halos<N> const& halos, rank_t ranks) noexcept
      : extents_(extents), halos_(halos), rows_(extents[0], ranks) {}

  [[nodiscard]] constexpr std::array<std::size_t, N> const& extents() const noexcept { return extents_; }
  [[nodiscard]] constexpr std::size_t extent(std::size_t d) const noexcept { return extents_[d]; }
  [[nodiscard]] constexpr pgas::halo const& halo(std::size_t d) const noexcept { return halos_[d]; }
  /// Who owns the rows.
  [[nodiscard]] constexpr block const& rows() const noexcept { return rows_; }

  /// The cells a rank owns, in global indices.
  [[nodiscard]] constexpr box<N> box_of(rank_t rank) const noexcept {
    box<N> own{{}, extents_};
    own.first[0] = rows_.first(rank);
    own.count[0] = rows_.local_size(rank);
    return own;
  }

  /// Elements of a part from one row to the next.
  [[nodiscard]] constexpr std::size_t pitch() const noexcept {
    std::size_t elements = 1;
    for (std::size_t d = 1; d < N; ++d) elements *= extents_[d] + 2 * halos_[d].width;
    return elements;
  }
  /// Rows of a rank's part, ghost rows included.
  [[nodiscard]] constexpr std::size_t part_rows(rank_t rank) const noexcept {
    auto const own = rows_.local_size(rank);
    return own == 0 ? 0 : own + 2 * halos_[0].width;
  }
  [[nodiscard]] constexpr std::size_t part_size(rank_t rank) const noexcept { return part_rows(rank) * pitch(); }

  /// Where a rank's first own cell lies in its part.
  [[nodiscard]] constexpr std::size_t origin() const noexcept {
    return halos_[0].width * pitch() + (N == 2 ? halos_[N - 1].width : 0);
  }
  /// Where a cell lies in its owner's part.
  [[nodiscard]] constexpr std::size_t offset(std::array<std::size_t, N> const& index) const noexcept {
    return origin() + rows_.local_index(index[0]) * pitch() + (N == 2 ? index[N - 1] : 0);
  }

  [[nodiscard]] constexpr bool contains(box<N> const& b) const noexcept {
    for (std::size_t d = 0; d < N; ++d) {
      if (b.count[d] > extents_[d] || b.first[d] > extents_[d] - b.count[d]) return false;
    }
    return true;
  }

  /// Whether some number of elements or bytes is more than an address can say.
  [[nodiscard]] constexpr bool overflows(std::size_t element_bytes) const noexcept {
    constexpr std::size_t most = PTRDIFF_MAX;
    std::size_t bytes = element_bytes;
    for (std::size_t d = 0; d < N; ++d) {
      if (halos_[d].width > most / 2 || extents_[d] > most - 2 * halos_[d].width) return true;
      std::size_t const cells = extents_[d] + 2 * halos_[d].width;
      if (cells != 0 && bytes > most / cells) return true;
      bytes *= cells;
    }
    return false;
  }

 private:
  std::array<std::size_t, N> extents_;
  halos<N> halos_;
  block rows_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
