// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// The piece of an array that one rank owns, as any rank sees it: its owner, its cells, and its memory if
/// that can be reached.
///
/// It is valid as long as its array stays in place. distributed-ranges: remote segments.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
class array_segment {
 public:
  using value_type = typename Array::value_type;

  /// The piece of `rank`.
  array_segment(Array const& a, rank_t rank) noexcept : array_(&a), rank_(rank) {}

  /// The owner.
  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  /// The cells of this piece in global indices.
  [[nodiscard]] typename Array::box_type box() const noexcept { return array_->shape().box_of(rank_); }
  /// The first index of the piece in dimension 0.
  [[nodiscard]] std::size_t first_row() const noexcept { return box().first[0]; }
  /// The number of cells.
  [[nodiscard]] std::size_t size() const noexcept { return box().size(); }
  /// True if the owner has no cells.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// True if this rank is the owner.
  [[nodiscard]] bool is_own() const noexcept { return rank_ == array_->rank(); }

  /// The memory of this piece on any rank, as a span, a matrix_view or a box_view. For code that synchronizes
  /// by itself, on coherent shared memory.
  [[nodiscard]] auto local() const
    requires Array::state_type::is_direct
  {
    return detail::view_of_memory(first_cell(), box().count, pitches());
  }
  /// The address of the piece's first cell, for views.
  [[nodiscard]] value_type* first_cell() const
    requires Array::state_type::is_direct
  {
    return array_->window().part(rank_).data() + (empty() ? 0 : array_->layout().origin(rank_));
  }
  /// The elements from a cell to its neighbour, in each dimension.
  [[nodiscard]] auto pitches() const { return array_->layout().pitches(rank_); }

 private:
  Array const* array_;
  rank_t rank_;
};

}  // namespace PGAS_NAMESPACE
