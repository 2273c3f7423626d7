// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <numeric>
#include <pgas/concepts/layout.hpp>

namespace PGAS_NAMESPACE {

/// Tiles of B... cells, each contiguous in memory, assigned to the ranks in turn in row-major order:
/// `cyclic_tiles<8, 8>{}`. A tile at the edge occupies as much memory as any other.
///
/// A tile is one transfer, and one matrix for BLAS. `padded(64)` makes every tile start on a line of 64
/// bytes, if parts do.
/// Ferreras 2008, multidimensional blocking, equations 5.3 to 5.5; here a tile's number is divided once
/// instead of twice.
template <std::size_t... B>
class cyclic_tiles {
  static_assert(sizeof...(B) >= 1 && sizeof...(B) <= 4, "cyclic_tiles: arrays have one to four dimensions");
  static_assert(((B > 0) && ...), "cyclic_tiles: a tile has at least one cell in each dimension");

 public:
  static constexpr std::size_t dimensions = sizeof...(B);
  using index_type = std::array<std::size_t, dimensions>;
  using box_type = box<dimensions>;
  using tile_type = tile<dimensions>;

  constexpr cyclic_tiles() = default;

  /// The same layout with tiles that start on lines of `line_bytes` bytes.
  [[nodiscard]] constexpr cyclic_tiles padded(std::size_t line_bytes) const noexcept {
    cyclic_tiles other = *this;
    other.line_bytes_ = line_bytes;
    return other;
  }
  [[nodiscard]] constexpr cyclic_tiles over(index_type const& extents, rank_t ranks,
                                            std::size_t element_bytes = 1,
                                            margins<dimensions> const& = {}) const noexcept {
    cyclic_tiles other = *this;
    other.extents_ = extents;
    other.ranks_ = ranks;
    std::size_t const padding = line_bytes_ == 0 ? 1 : line_bytes_ / std::gcd(line_bytes_, element_bytes);
    other.tile_size_ = ((B * ...) + padding - 1) / padding * padding;
    return other;
  }
  [[nodiscard]] std::optional<std::string> error_for(index_type const&, rank_t) const { return std::nullopt; }
  [[nodiscard]] std::string describe() const {
    return "cyclic_tiles(" + detail::joined(shape, " x ") + ")" +
           (line_bytes_ == 0 ? "" : " padded to " + std::to_string(line_bytes_));
  }

  [[nodiscard]] constexpr index_type const& extents() const noexcept { return extents_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(index_type const& index) const noexcept {
    return static_cast<rank_t>(number(index) % size());
  }
  /// The number of a cell's tile among its owner's tiles, in UPC's word.
  [[nodiscard]] constexpr std::size_t local_block(index_type const& index) const noexcept {
    return number(index) / size();
  }
  /// The number of a cell in its tile, in UPC's word.
  [[nodiscard]] constexpr std::size_t phase(index_type const& index) const noexcept {
    std::size_t in_tile = 0;
    for (std::size_t d = 0; d < dimensions; ++d) in_tile = in_tile * shape[d] + index[d] % shape[d];
    return in_tile;
  }
  [[nodiscard]] constexpr std::size_t offset(index_type const& index) const noexcept {
    return local_block(index) * tile_size_ + phase(index);
  }
  [[nodiscard]] constexpr index_type global_index(rank_t rank, std::size_t offset) const noexcept {
    index_type index = first(offset / tile_size_ * size() + static_cast<std::size_t>(rank));
    std::size_t in_tile = offset % tile_size_;
    for (std::size_t d = dimensions; d-- > 0;) {
      index[d] += in_tile % shape[d];
      in_tile /= shape[d];
    }
    return index;
  }
  [[nodiscard]] constexpr std::size_t part_size(rank_t rank) const noexcept {
    return tiles(rank) * tile_size_;
  }

  [[nodiscard]] constexpr std::size_t tiles(rank_t rank) const noexcept {
    std::size_t const all = box_type{{}, counts()}.size();
    return all / size() + (static_cast<std::size_t>(rank) < all % size() ? 1 : 0);
  }
  [[nodiscard]] constexpr tile_type tile_of(rank_t rank, std::size_t k) const noexcept {
    tile_type found{.owner = rank, .cells = {}, .offset = k * tile_size_, .pitches = {}};
    found.cells.first = first(k * size() + static_cast<std::size_t>(rank));
    std::size_t pitch = 1;
    for (std::size_t d = dimensions; d-- > 0;) {
      found.cells.count[d] = std::min(shape[d], extents_[d] - found.cells.first[d]);
      found.pitches[d] = pitch;
      pitch *= shape[d];
    }
    return found;
  }
  [[nodiscard]] constexpr tile_type tile_at(index_type const& index) const noexcept {
    return tile_of(owner(index), local_block(index));
  }

  /// True if a number of elements or bytes overflows the address space.
  [[nodiscard]] constexpr bool overflows(std::size_t element_bytes) const noexcept {
    constexpr std::size_t most = PTRDIFF_MAX;
    std::size_t bytes = element_bytes;
    auto const times = [&](std::size_t n) {
      bool const over = n != 0 && bytes > most / n;
      bytes *= n;
      return over;
    };
    if (times(tile_size_)) return true;
    for (std::size_t n : counts()) {
      if (times(n)) return true;
    }
    for (std::size_t e : extents_) {
      if (e > most) return true;
    }
    return false;
  }

  friend constexpr bool operator==(cyclic_tiles const&, cyclic_tiles const&) = default;

 private:
  static constexpr index_type shape{B...};

  [[nodiscard]] constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(ranks_); }
  /// The number of tiles along each dimension.
  [[nodiscard]] constexpr index_type counts() const noexcept {
    index_type all{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      all[d] = extents_[d] / shape[d] + (extents_[d] % shape[d] != 0 ? 1 : 0);
    }
    return all;
  }
  /// The number of a cell's tile among all tiles.
  [[nodiscard]] constexpr std::size_t number(index_type const& index) const noexcept {
    auto const all = counts();
    std::size_t tile = 0;
    for (std::size_t d = 0; d < dimensions; ++d) tile = tile * all[d] + index[d] / shape[d];
    return tile;
  }
  /// The first cell of a tile.
  [[nodiscard]] constexpr index_type first(std::size_t number) const noexcept {
    auto const all = counts();
    index_type index{};
    for (std::size_t d = dimensions; d-- > 0;) {
      index[d] = number % all[d] * shape[d];
      number /= all[d];
    }
    return index;
  }

  index_type extents_{};
  rank_t ranks_ = 1;
  std::size_t line_bytes_ = 0;
  std::size_t tile_size_ = (B * ...);
};
static_assert(layout<cyclic_tiles<4>> && layout<cyclic_tiles<3, 5>> && layout<cyclic_tiles<1, 2, 3, 4>>);

}  // namespace PGAS_NAMESPACE
