// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/detail/expects.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// A view of N dimensions (1 or 2) over strided elements, shaped like std::mdspan with layout_stride; the last
/// dimension is contiguous.
///
/// Index 0 is the first own element: where the viewed array has a halo of width h, indices from -h to
/// extent + h - 1 reach its ghost cells too. `Elements` is a pointer, or a random access range of
/// references where memory is not plain. Not checked.
template <class Elements, std::size_t N>
class matrix_view {
 public:
  using index_type = std::ptrdiff_t;
  using reference = decltype(std::declval<Elements const&>()[0]);

  constexpr matrix_view(Elements elements, std::size_t origin, std::array<std::size_t, N> extents, std::size_t pitch)
      : elements_(elements),
        origin_(static_cast<index_type>(origin)),
        extents_(extents),
        pitch_(static_cast<index_type>(pitch)) {
    if constexpr (std::is_pointer_v<Elements>) {
      elements_ += origin_;  // one addition less at each access
      origin_ = 0;
    }
  }

  [[nodiscard]] static constexpr std::size_t rank() noexcept { return N; }
  [[nodiscard]] constexpr std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
  [[nodiscard]] constexpr std::size_t stride(std::size_t dimension) const noexcept {
    return dimension + 1 == N ? 1 : static_cast<std::size_t>(pitch_);
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t product = 1;
    for (std::size_t extent : extents_) product *= extent;
    return product;
  }

  [[nodiscard]] constexpr reference operator()(index_type i, index_type j) const
    requires(N == 2)
  {
    return at(i * pitch_ + j);
  }
  [[nodiscard]] constexpr reference operator()(index_type i) const
    requires(N == 1)
  {
    return at(i);
  }

  /// The first own element: what mdspan calls data_handle.
  [[nodiscard]] constexpr Elements data_handle() const noexcept
    requires std::is_pointer_v<Elements>
  {
    return elements_;
  }
  /// The own elements of row i, as a span.
  [[nodiscard]] constexpr auto row(index_type i) const noexcept
    requires(N == 2 && std::is_pointer_v<Elements>)
  {
    return std::span(elements_ + i * pitch_, extents_[1]);
  }

 private:
  [[nodiscard]] constexpr reference at(index_type offset) const {
    if constexpr (std::is_pointer_v<Elements>) {
      return elements_[offset];
    } else {
      return elements_[static_cast<std::size_t>(origin_ + offset)];
    }
  }

  Elements elements_;
  index_type origin_;
  std::array<std::size_t, N> extents_;
  index_type pitch_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
