// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/any_global_array.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/error.hpp>
#include <tuple>

namespace PGAS_NAMESPACE {

namespace detail {

template <std::size_t N>
[[noreturn, gnu::cold, gnu::noinline]] void throw_other_part(
    rank_t self, std::size_t argument, std::array<std::size_t, N> const& cells,
    std::array<std::size_t, N> const& pitches, std::array<std::size_t, N> const& first_cells,
    std::array<std::size_t, N> const& first_pitches) {
  throw_error(errc::invalid_argument, self, "local_views",
              {"the parts do not lie alike: array ", argument, " has ", joined(cells, " x "),
               " own cells at distances of ", joined(pitches, ", "), ", and array 1 has ",
               joined(first_cells, " x "), " at ", joined(first_pitches, ", "),
               "; give arrays of one layout, with the same extents, halos and size of elements"});
}

}  // namespace detail

/// The own parts of several arrays that lie alike in memory: a tuple of what local() of each returns.
///
///     auto const [heat, flow, next] = pgas::local_views(a, b, c);
///
/// A loop over several fields is quicker with these views than with those of local(). All have the extents
/// and pitches of the first array, so the compiler knows that these are equal. It keeps one distance per
/// dimension in a register, instead of one per array.
///
/// Local. The views are valid as long as those of local(). Throws errc::invalid_argument if two parts differ
/// in their number of own cells along a dimension, or in the distances of these. The standard: several
/// std::mdspan with one mapping.
template <any_global_array First, any_global_array... Others>
  requires(matrix_layout<typename First::layout_type> &&
           (matrix_layout<typename Others::layout_type> && ...) &&
           ((Others::dimensions == First::dimensions) && ...))
[[nodiscard, gnu::always_inline]] inline auto local_views(First const& first, Others const&... others) {
  // All inlined, since g++ does not follow a pitch through the result of a call.
  auto const extents = first.local_extents();
  auto const pitches = first.local_place().pitches;
  std::size_t argument = 0;
  auto const view = [&](auto const& array) __attribute__((always_inline)) {
    ++argument;
    PGAS_EXPECTS(light, array.local_extents() == extents && array.local_place().pitches == pitches,
                 detail::throw_other_part(array.state().job_rank(), argument, array.local_extents(),
                                          array.local_place().pitches, extents, pitches));
    return detail::view_of_own(array.window(), array.local_place().first, extents, pitches);
  };
  return std::tuple{view(first), view(others)...};  // braces: in this order
}

}  // namespace PGAS_NAMESPACE
