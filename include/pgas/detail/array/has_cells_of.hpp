// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/array/aligned.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// True if two arrays have the same own cells of this rank in the same order.
template <any_global_array First, any_global_array Second>
  requires(First::dimensions == Second::dimensions)
bool has_cells_of(First const& a, Second const& b) noexcept {
  if (a.extents() != b.extents() || a.local_extents() != b.local_extents()) return false;
  if ((has_layout_of(a, b) && a.rank() == b.rank()) || own_cells(a).empty()) return true;
  // Own cells are a product of dimensions, so that comparing along each dimension compares all of them.
  auto const index = [](auto const& array, std::size_t d, std::size_t i) {
    auto const& place = array.local_place();
    return array.layout().global_index(array.rank(), place.first + i * place.pitches[d])[d];
  };
  for (std::size_t d = 0; d < First::dimensions; ++d) {
    for (std::size_t i = 0; i < a.local_extents()[d]; ++i) {
      if (index(a, d, i) != index(b, d, i)) return false;
    }
  }
  return true;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
