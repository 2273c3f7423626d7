// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// A rank's own cells as plain memory: in place where they are, else a copy that goes back when the guard goes.
template <class Mode, class Array>
class staged_array {
  using window_type = typename Array::window_type;
  using value_type = typename Array::value_type;
  using element = std::conditional_t<std::is_same_v<Mode, read>, value_type const, value_type>;
  static constexpr std::size_t dimensions = Array::dimensions;
  // Writing all own cells must leave the ghost cells between them alone: the copy is of own cells only.
  static constexpr bool copies_own_cells = std::is_same_v<Mode, write> && !Array::is_contiguous;

 public:
  explicit staged_array(Array const& a)
      : window_(&a.window()),
        own_(a.own_box()),
        pitch_(a.shape().pitch()),
        first_(own_.count[0] == 0 ? 0 : a.shape().origin()),
        memory_(make(a)) {
    data_ = memory_.data();
    if constexpr (copies_own_cells) {
      copy_pitch_ = cols();
    } else {
      copy_pitch_ = pitch_;
      data_ += first_;
    }
  }
  staged_array(staged_array const&) = delete;
  staged_array& operator=(staged_array const&) = delete;
  ~staged_array() {
    if constexpr (copies_own_cells) write_back();
  }

  /// The own cells: a span or, of two dimensions, a matrix_view. Take it before a loop.
  [[nodiscard]] auto view() const noexcept {
    if constexpr (dimensions == 1) {
      return std::span<element>(data_, own_.count[0]);
    } else {
      return matrix_view<element>(data_, own_.count[0], own_.count[1], copy_pitch_);
    }
  }
  /// A cell, counted from the first own one; around the own cells, staged to read or update, are the ghost cells.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == dimensions)
  [[nodiscard]] element& operator()(Indices... index) const noexcept {
    if constexpr (dimensions == 1) {
      return data_[(static_cast<std::ptrdiff_t>(index), ...)];
    } else {
      return view()(index...);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return own_.size(); }
  [[nodiscard]] element* data() const noexcept { return data_; }
  [[nodiscard]] element* begin() const noexcept
    requires(dimensions == 1)
  {
    return data_;
  }
  [[nodiscard]] element* end() const noexcept
    requires(dimensions == 1)
  {
    return data_ + size();
  }
  [[nodiscard]] element& operator[](std::size_t i) const noexcept
    requires(dimensions == 1)
  {
    return data_[i];
  }

 private:
  using memory = std::conditional_t<copies_own_cells, std::vector<value_type>, staged<Mode, window_type>>;

  static memory make(Array const& a) {
    if constexpr (copies_own_cells) {
      return memory(a.own_box().size());
    } else {
      return memory(a.window(), 0, a.window().size());
    }
  }
  [[nodiscard]] std::size_t cols() const noexcept { return dimensions == 1 ? 1 : own_.count[dimensions - 1]; }

  void write_back() noexcept {
    std::size_t const pieces = dimensions == 1 ? 1 : own_.count[0];
    std::size_t const length = dimensions == 1 ? own_.count[0] : cols();
    try {
      for (std::size_t i = 0; i < pieces && length != 0; ++i) {
        auto const piece = stage<write>(*window_, first_ + i * pitch_, length);
        std::copy_n(data_ + i * length, length, piece.begin());
      }
    } catch (...) {
      window_->state().team->deferred->record(std::current_exception());
    }
  }

  window_type const* window_;
  typename Array::box_type own_;
  std::size_t pitch_;
  std::size_t first_;
  memory memory_;
  element* data_ = nullptr;
  std::size_t copy_pitch_ = 0;
};

}  // namespace detail

/// Gives this rank's own cells as plain memory, on every backend: `auto in = stage<pgas::read>(array);`.
///
/// read and update see the ghost cells around the own ones, as they are when it is called; write overwrites all
/// own cells and no ghost cell. Free where memory is plain; else copies. Local. The array must not move meanwhile.
template <class Mode, any_global_array Array>
[[nodiscard]] auto stage(Array const& a) {
  static_assert(std::is_same_v<Mode, read> || std::is_same_v<Mode, write> || std::is_same_v<Mode, update>,
                "stage: say what for: stage<pgas::read>, stage<pgas::write> or stage<pgas::update>");
  return detail::staged_array<Mode, Array>(a);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
