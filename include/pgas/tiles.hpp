// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <iterator>
#include <pgas/global_array.hpp>

namespace PGAS_NAMESPACE {

/// A tile that this rank owns: its cells, and a view of them. Valid as long as its array stays where it is.
template <any_global_array Array>
class own_tile {
 public:
  using box_type = typename Array::box_type;

  /// Tile k of this rank, in the order of memory.
  own_tile(Array const& a, std::size_t k) noexcept : array_(&a), tile_(a.layout().tile_of(a.rank(), k)) {}

  /// Its cells in global indices.
  [[nodiscard]] box_type const& cells() const noexcept { return tile_.cells; }
  /// The number of cells.
  [[nodiscard]] std::size_t size() const noexcept { return tile_.cells.size(); }
  /// Its cells, counted from its first: a span, a matrix_view whose stride(0) is the leading dimension that
  /// BLAS asks for, or a box_view. If they are not plain memory, references that go through this rank's
  /// cache.
  [[nodiscard]] auto view() const noexcept {
    return detail::view_of_own(array_->window(), tile_.offset, tile_.cells.count, tile_.pitches);
  }

 private:
  Array const* array_;
  tile<Array::dimensions> tile_;
};

/// The tiles that this rank owns, in the order of their memory: the result of tiles().
template <any_global_array Array>
class own_tiles {
 public:
  class iterator {
   public:
    using value_type = own_tile<Array>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;  // its reference is a value
    using iterator_concept = std::forward_iterator_tag;

    iterator() = default;
    iterator(Array const& a, std::size_t k) noexcept : array_(&a), k_(k) {}

    value_type operator*() const noexcept { return {*array_, k_}; }
    iterator& operator++() noexcept {
      ++k_;
      return *this;
    }
    iterator operator++(int) noexcept { return {*array_, k_++}; }
    friend bool operator==(iterator const& a, iterator const& b) noexcept { return a.k_ == b.k_; }

   private:
    Array const* array_ = nullptr;
    std::size_t k_ = 0;
  };

  /// The tiles of this rank in `a`.
  explicit own_tiles(Array const& a) noexcept : array_(&a) {}

  /// The number of tiles.
  [[nodiscard]] std::size_t size() const noexcept { return array_->layout().tiles(array_->rank()); }
  /// True if this rank owns no tile.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Tile k, in the order of memory.
  [[nodiscard]] own_tile<Array> operator[](std::size_t k) const noexcept { return {*array_, k}; }
  /// The first tile.
  [[nodiscard]] iterator begin() const noexcept { return {*array_, 0}; }
  /// The end of the tiles.
  [[nodiscard]] iterator end() const noexcept { return {*array_, size()}; }

 private:
  Array const* array_;
};

/// The tiles of an array that this rank owns, in any layout: `for (auto tile : tiles(a)) use(tile.view());`.
/// Local. A layout in blocks has one tile on a rank, or none.
template <any_global_array Array>
[[nodiscard]] own_tiles<Array> tiles(Array const& a) noexcept {
  return own_tiles<Array>(a);
}

}  // namespace PGAS_NAMESPACE
