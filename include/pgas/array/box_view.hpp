// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/matrix_view.hpp>
#include <pgas/vocabulary/box.hpp>
#include <tuple>

namespace PGAS_NAMESPACE {

namespace detail {

/// The shape that views of memory and views through a cache have in common.
template <std::size_t N>
class cell_places {
 public:
  using index_type = std::ptrdiff_t;
  using size_type = std::size_t;
  using rank_type = std::size_t;

  constexpr cell_places() = default;
  /// Cells of these extents; neighbours in dimension d are pitches[d] elements apart.
  constexpr cell_places(std::array<std::size_t, N> const& extents,
                        std::array<std::size_t, N> const& pitches) noexcept
      : cell_places(extents, pitches, std::make_index_sequence<N>{}) {}

  /// The number of dimensions.
  static constexpr rank_type rank() noexcept { return N; }
  /// The number of cells in dimension d.
  [[nodiscard]] constexpr size_type extent(rank_type d) const noexcept { return extents_[d]; }
  /// The number of cells in each dimension.
  [[nodiscard]] constexpr std::array<std::size_t, N> const& extents() const noexcept { return extents_; }
  /// The elements from a cell to its neighbour in dimension d.
  [[nodiscard]] constexpr index_type stride(rank_type d) const noexcept { return strides_[d]; }
  /// The number of cells.
  [[nodiscard]] constexpr size_type size() const noexcept { return box<N>{{}, extents_}.size(); }
  /// True if there are no cells.
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }

 protected:
  /// The offset of a cell. The last dimension has stride 1, which the compiler must know. The sum is unsigned
  /// as in matrix_view.
  template <std::integral... Indices>
  [[nodiscard]] constexpr index_type at(Indices... index) const noexcept {
    return static_cast<index_type>(
        sum(std::make_index_sequence<N - 1>{}, {static_cast<size_type>(index)...}));
  }

 private:
  // No loop runs over the dimensions: g++ would keep the view in memory, and lose track of the memory that it
  // views.
  template <std::size_t... d>
  constexpr cell_places(std::array<std::size_t, N> const& extents, std::array<std::size_t, N> const& pitches,
                        std::index_sequence<d...> /*all*/) noexcept
      : extents_{extents[d]...}, strides_{static_cast<index_type>(pitches[d])...} {}
  template <std::size_t... d>
  [[nodiscard]] constexpr size_type sum(std::index_sequence<d...> /*but the last*/,
                                        std::array<size_type, N> const& i) const noexcept {
    return ((i[d] * static_cast<size_type>(strides_[d])) + ... + i[N - 1]);
  }

  std::array<std::size_t, N> extents_{};
  std::array<index_type, N> strides_{};
};

}  // namespace detail

/// A view of memory in N dimensions, the last one contiguous, with the interface of std::mdspan for dynamic
/// extents and layout_stride. matrix_view is the same for two dimensions.
///
/// Indices are signed and count from the first cell, so that ghost cells around the view have names. Indices
/// are not checked, and copies view the same memory.
template <class T, std::size_t N>
class box_view : public detail::cell_places<N> {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using reference = T&;
  using data_handle_type = T*;

  constexpr box_view() = default;
  /// A view of `extents` cells from `data` on; neighbours in dimension d are pitches[d] elements apart.
  constexpr box_view(T* data, std::array<std::size_t, N> const& extents,
                     std::array<std::size_t, N> const& pitches) noexcept
      : detail::cell_places<N>(extents, pitches), data_(data) {}

  /// The first cell.
  [[nodiscard]] constexpr T* data_handle() const noexcept { return data_; }

  /// A cell by its indices, which may be negative in a halo.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] constexpr T& operator()(Indices... index) const noexcept {
    return data_[this->at(index...)];
  }
  /// A cell by its indices, as in std::mdspan.
  template <std::integral Index>
  [[nodiscard]] constexpr T& operator[](std::array<Index, N> const& index) const noexcept {
    return std::apply([this](auto... i) -> T& { return (*this)(i...); }, index);
  }
  /// The row of cells with these indices in all dimensions but the last.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N - 1)
  [[nodiscard]] constexpr std::span<T> row(Indices... index) const noexcept {
    return {&(*this)(index..., 0), this->extent(N - 1)};
  }
  /// `count` cells of a row from the cell with these indices on.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] constexpr std::span<T> piece_of_row(std::size_t count, Indices... index) const noexcept {
    return {&(*this)(index...), count};
  }

 private:
  T* data_ = nullptr;
};

/// The counterpart of box_view for an own part that is not plain memory: its cells are references that go
/// through this rank's cache.
template <class State, std::size_t N>
class local_box : public detail::cell_places<N> {
 public:
  using value_type = typename State::value_type;
  using reference = local_ref<State>;

  local_box() = default;
  /// A view of `extents` cells of the own part from element `first` on.
  local_box(State& state, std::size_t first, std::array<std::size_t, N> const& extents,
            std::array<std::size_t, N> const& pitches) noexcept
      : detail::cell_places<N>(extents, pitches), state_(&state), first_(first) {}

  /// A reference to a cell.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] reference operator()(Indices... index) const noexcept {
    return {*state_, first_ + static_cast<std::size_t>(this->at(index...))};
  }
  /// A reference to a cell.
  template <std::integral Index>
  [[nodiscard]] reference operator[](std::array<Index, N> const& index) const noexcept {
    return std::apply([this](auto... i) -> reference { return (*this)(i...); }, index);
  }
  /// The row of cells with these indices in all dimensions but the last.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N - 1)
  [[nodiscard]] local_view<State> row(Indices... index) const noexcept {
    return {*state_, first_ + static_cast<std::size_t>(this->at(index..., 0)), this->extent(N - 1)};
  }
  /// `count` cells of a row from the cell with these indices on.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] local_view<State> piece_of_row(std::size_t count, Indices... index) const noexcept {
    return {*state_, first_ + static_cast<std::size_t>(this->at(index...)), count};
  }

 private:
  State* state_ = nullptr;
  std::size_t first_ = 0;
};

namespace detail {

/// The view of N-dimensional cells in memory: a span, a matrix_view or a box_view.
template <class T, std::size_t N>
constexpr auto view_of_memory(T* data, std::array<std::size_t, N> const& extents,
                              std::array<std::size_t, N> const& pitches) noexcept {
  if constexpr (N == 1) {
    return std::span<T>(data, extents[0]);
  } else if constexpr (N == 2) {
    return matrix_view<T>(data, extents[0], extents[1], pitches[0]);
  } else {
    return box_view<T, N>(data, extents, pitches);
  }
}

/// The view of cells of this rank's own part, through a cache if there is one.
template <class Window, std::size_t N>
auto view_of_own(Window const& w, std::size_t first, std::array<std::size_t, N> const& extents,
                 std::array<std::size_t, N> const& pitches) noexcept {
  using state_type = typename Window::state_type;
  if constexpr (N == 1) {
    return w.local().subspan(first, extents[0]);
  } else if constexpr (Window::is_contiguous) {
    return view_of_memory(w.local().data() + first, extents, pitches);
  } else if constexpr (N == 2) {
    return local_matrix<state_type>(w.state(), first, extents[0], extents[1], pitches[0]);
  } else {
    return local_box<state_type, N>(w.state(), first, extents, pitches);
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
