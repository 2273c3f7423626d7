// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/algorithm/reduce.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Every rank returns op over init and f(cell) of all cells: `transform_reduce(team, a, 0.0, op::sum{}, square)`.
///
/// Collective over the team, which must be the array's; ranks may own nothing. The result has init's type. op is
/// associative: a rank's own cells are combined in the order of memory, then the ranks' results in rank order, so that
/// the bits are the same each time on the same layout and number of ranks.
/// Throws errc::invalid_argument for a team that is not the array's.
/// Costs one value a rank. MPI: a local loop and MPI_Allreduce; the standard: std::transform_reduce.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          transportable T, class Op, class F>
  requires(operation_on<Op, T> && std::is_invocable_r_v<T, F&, typename Array::value_type const&>)
[[nodiscard]] T transform_reduce(team<Backend, Coherence, Protocols> team, Array const& a, T init, Op op, F f) {
  detail::check_team(team, a, "transform_reduce");
  std::optional<T> own;
  detail::for_each_own_row(a, read_only, [&](auto const&, auto row) {
    for (auto const& cell : row) detail::combine(own, static_cast<T>(std::invoke(f, cell)), op);
  });
  return detail::combine_ranks(team, own, init, op);
}

/// Every rank returns op over init and f(cell of a, cell of b) of all cells: `transform_reduce(team, a, b, 0.0)` is the
/// dot product of two arrays.
///
/// Collective over the team, which must be both arrays'. Each cell has one owner in both; where in its part does not
/// matter, and own cells are combined in the order of a's memory. Else like transform_reduce of one array.
/// Throws errc::invalid_argument, on every rank, with both layouts when the arrays are not aligned: copy one of them to
/// the other's layout first. Costs a second value a rank where the layouts are not the same. The standard:
/// std::transform_reduce; BLAS: dot.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array First,
          any_global_array Second, transportable T, class Op = op::sum, class F = std::multiplies<>>
  requires(First::dimensions == Second::dimensions && operation_on<Op, T> &&
           std::is_invocable_r_v<T, F&, typename First::value_type const&, typename Second::value_type const&>)
[[nodiscard]] T transform_reduce(team<Backend, Coherence, Protocols> team, First const& a, Second const& b, T init,
                                 Op op = {}, F f = {}) {
  constexpr std::string_view operation = "transform_reduce";
  detail::check_team(team, a, operation);
  detail::check_team(team, b, operation);
  if (!detail::has_layout_of(a, b)) {
    auto const each = team.all_gather(std::uint8_t{detail::owns_the_same(a, b)});
    if (std::find(each.begin(), each.end(), 0) != each.end()) detail::throw_not_aligned(operation, a, b);
  }
  std::optional<T> own;
  detail::for_each_common_row(a, read_only, b, read_only, [&](auto row_a, auto row_b) {
    for (std::size_t i = 0; i < row_a.size(); ++i) {
      detail::combine(own, static_cast<T>(std::invoke(f, row_a[i], row_b[i])), op);
    }
  });
  return detail::combine_ranks(team, own, init, op);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
