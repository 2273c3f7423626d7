// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/views.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

/// The piece of a transformed array that one rank owns. Its owner and cells are those of the underlying
/// array's piece.
template <any_global_array Array, class Map>
class transformed_segment {
 public:
  /// For segments().
  transformed_segment(array_segment<Array> const& base, Map map) : base_(base), map_(std::move(map)) {}

  /// The owner.
  [[nodiscard]] rank_t rank() const noexcept { return base_.rank(); }
  /// The cells of this piece in global indices.
  [[nodiscard]] auto box() const noexcept { return base_.box(); }
  /// The number of cells.
  [[nodiscard]] std::size_t size() const noexcept { return base_.size(); }
  /// True if the owner has no cells.
  [[nodiscard]] bool empty() const noexcept { return base_.empty(); }
  /// True if this rank is the owner.
  [[nodiscard]] bool is_own() const noexcept { return base_.is_own(); }

  /// The values of this piece on any rank, as a random access view in row-major order. For code that
  /// synchronizes by itself, on coherent shared memory.
  [[nodiscard]] auto local() const
    requires Array::state_type::is_direct
  {
    return ranges::views::transform(views::cells(base_), map_);
  }

 private:
  array_segment<Array> base_;
  Map map_;
};

/// An array seen through a function of a cell. The function is called when a value is read; nothing is
/// stored. segments(), rank() and local() accept a transformed array as they accept an array, so that
/// algorithms over owners accept either.
///
/// Make one with views::transform. It is valid as long as the array stays in place.
/// distributed-ranges: views::transform of a distributed range, whose segments keep their ranks.
template <any_global_array Array, class Map>
class transformed_array {
 public:
  /// For views::transform.
  transformed_array(Array const& base, Map map) : base_(&base), map_(std::move(map)) {}

  /// The array beneath.
  [[nodiscard]] Array const& base() const noexcept { return *base_; }
  /// The function of a cell.
  [[nodiscard]] Map const& map() const noexcept { return map_; }

 private:
  Array const* base_;
  Map map_;
};

/// The pieces of a transformed array in rank order, empty ones included. Local, like all of these functions.
template <any_global_array Array, class Map>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto segments(transformed_array<Array, Map> const& a) {
  return ranges::views::transform(segments(a.base()), [map = a.map()](array_segment<Array> const& s) {
    return transformed_segment<Array, Map>(s, map);
  });
}
/// The rank that owns a piece.
template <any_global_array Array, class Map>
[[nodiscard]] rank_t rank(transformed_segment<Array, Map> const& s) noexcept {
  return s.rank();
}
/// The values of this rank's own cells as a random access view in row-major order, on every backend.
template <any_global_array Array, class Map>
[[nodiscard]] auto local(transformed_array<Array, Map> const& a) {
  return ranges::views::transform(views::local(a.base()), a.map());
}
template <any_global_array Array, class Map>
[[nodiscard]] auto local(transformed_segment<Array, Map> const& s)
  requires Array::state_type::is_direct
{
  return s.local();
}

namespace views {

/// An array seen through a function of a cell: `for (auto s : segments(views::transform(a, f)))`. The
/// function is copied, and is called with a reference to a cell. Local; costs nothing until a value is read.
template <any_global_array Array, class Map>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto transform(Array const& a, Map map) {
  return transformed_array<Array, Map>(a, std::move(map));
}
/// A transformed array seen through a second function, which is called with the first one's value.
template <any_global_array Array, class First, class Map>
[[nodiscard]] auto transform(transformed_array<Array, First> const& a, Map map) {
  return views::transform(a.base(), [first = a.map(), then = std::move(map)](auto&& cell) -> decltype(auto) {
    return then(first(std::forward<decltype(cell)>(cell)));
  });
}

}  // namespace views

}  // namespace PGAS_NAMESPACE
