// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <pgas/array/box_view.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <utility>

namespace PGAS_NAMESPACE {

/// An array of N dimensions in this rank's private memory, in row-major order without gaps. Reductions over
/// dimensions of a global_array return one.
///
/// It owns its cells, and a copy has cells of its own. Indices are not checked. The standard: a vector below
/// an std::mdspan; xtensor: xarray.
template <transportable T, std::size_t N>
class local_array {
 public:
  using value_type = T;
  using index_type = std::array<std::size_t, N>;

  /// The number of dimensions.
  static constexpr std::size_t dimensions = N;

  /// An array without cells.
  local_array() = default;
  /// An array of these extents. Its cells are value-initialized: numbers are 0.
  explicit local_array(index_type const& extents)
      : extents_(extents), cells_(std::make_unique<T[]>(box<N>{{}, extents}.size())) {}
  /// The same with cells that have no value yet.
  [[nodiscard]] static local_array for_overwrite(index_type const& extents) {
    local_array made;
    made.extents_ = extents;
    made.cells_ = std::make_unique_for_overwrite<T[]>(box<N>{{}, extents}.size());
    return made;
  }
  local_array(local_array const& other) : local_array(for_overwrite(other.extents_)) {
    std::copy(other.begin(), other.end(), begin());
  }
  local_array(local_array&& other) noexcept
      : extents_(std::exchange(other.extents_, index_type{})), cells_(std::move(other.cells_)) {}
  /// Takes the cells of a copy.
  local_array& operator=(local_array other) noexcept {
    std::swap(extents_, other.extents_);
    std::swap(cells_, other.cells_);
    return *this;
  }
  ~local_array() = default;

  /// The number of cells in each dimension.
  [[nodiscard]] index_type const& extents() const noexcept { return extents_; }
  /// The number of cells in dimension d.
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return extents_[d]; }
  /// The number of cells.
  [[nodiscard]] std::size_t size() const noexcept { return box<N>{{}, extents_}.size(); }
  /// True if there are no cells.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// The first cell; the others follow in row-major order.
  [[nodiscard]] T* data() noexcept { return cells_.get(); }
  [[nodiscard]] T const* data() const noexcept { return cells_.get(); }
  /// The first cell of the range of all.
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T const* begin() const noexcept { return data(); }
  /// The end of that range.
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  [[nodiscard]] T const* end() const noexcept { return data() + size(); }

  /// A cell by its indices.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] T& operator()(Indices... index) noexcept {
    return data()[place({static_cast<std::size_t>(index)...})];
  }
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] T const& operator()(Indices... index) const noexcept {
    return data()[place({static_cast<std::size_t>(index)...})];
  }
  /// A cell by its indices, as in std::mdspan.
  [[nodiscard]] T& operator[](index_type const& index) noexcept { return data()[place(index)]; }
  [[nodiscard]] T const& operator[](index_type const& index) const noexcept { return data()[place(index)]; }

  /// The cells as a span, a matrix_view of two dimensions, or a box_view of more, like those of arrays.
  [[nodiscard]] auto view() noexcept {
    return detail::view_of_memory(data(), extents_, detail::dense_pitches(extents_));
  }
  [[nodiscard]] auto view() const noexcept {
    return detail::view_of_memory(data(), extents_, detail::dense_pitches(extents_));
  }

 private:
  [[nodiscard]] std::size_t place(index_type const& index) const noexcept {
    return detail::element_at(index, detail::dense_pitches(extents_));
  }

  index_type extents_{};
  std::unique_ptr<T[]> cells_;
};

}  // namespace PGAS_NAMESPACE
