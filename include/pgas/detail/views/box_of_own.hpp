// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/box_view.hpp>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A view of this rank's own part with signed indices in all dimensions. In one dimension a span would not
/// take negative ones.
template <class Array>
auto box_of_own(Array const& a) noexcept {
  constexpr std::size_t N = Array::dimensions;
  auto const& place = a.local_place();
  if constexpr (Array::is_contiguous) {
    return box_view<typename Array::value_type, N>(a.window().local().data() + place.first, a.local_extents(),
                                                   place.pitches);
  } else {
    return local_box<typename Array::state_type, N>(a.state(), place.first, a.local_extents(), place.pitches);
  }
}

/// The cell of a view with these indices.
template <class View, std::size_t N>
decltype(auto) cell_at(View const& v, std::array<std::ptrdiff_t, N> const& at) noexcept {
  return std::apply([&](auto... i) -> decltype(auto) { return v(i...); }, at);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
