// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <pgas/algorithm/reduce.hpp>

namespace PGAS_NAMESPACE {

/// Every rank returns op over init and f(cell) for all cells:
/// `transform_reduce(team, a, 0.0, op::sum{}, square)`.
///
/// Collective over the team, which must be the array's; ranks may own nothing. The result has the type of
/// init. op must be associative: each rank combines its own cells in the order of memory, then the ranks'
/// results are combined in rank order. The same layout and number of ranks therefore give the same bits each
/// time.
/// Throws errc::invalid_argument if the team is not the array's. Costs one value per rank.
/// MPI: a local loop and MPI_Allreduce; the standard: std::transform_reduce.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          transportable T, class Op, class F>
  requires(operation_on<Op, T> && std::is_invocable_r_v<T, F&, typename Array::value_type const&>)
[[nodiscard]] T transform_reduce(team<Backend, Coherence, Protocols> team, Array const& a, T init, Op op,
                                 F f) {
  detail::check_team(team, a, "transform_reduce");
  std::optional<T> own;
  detail::for_each_own_row(a, read_only, [&](auto const&, auto row) {
    for (auto const& cell : row) detail::combine(own, static_cast<T>(std::invoke(f, cell)), op);
  });
  return detail::combine_ranks(team, own, init, op);
}

/// Every rank returns op over init and f(cell of a, cell of b) for all pairs of cells:
/// `transform_reduce(team, a, b, 0.0)` is the dot product of two arrays.
///
/// Collective over the team, which must be that of both arrays. Each cell must have the same owner in both;
/// positions within the parts may differ. Own cells are combined in the order of a's memory. Otherwise like
/// transform_reduce of one array.
/// Throws errc::invalid_argument on every rank, with both layouts, if the arrays are not aligned. Remedy:
/// copy one array to the other's layout first. Costs a second value per rank if the layouts differ.
/// The standard: std::transform_reduce; BLAS: dot.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array First,
          any_global_array Second, transportable T, class Op = op::sum, class F = std::multiplies<>>
  requires(
      First::dimensions == Second::dimensions && operation_on<Op, T> &&
      std::is_invocable_r_v<T, F&, typename First::value_type const&, typename Second::value_type const&>)
[[nodiscard]] T transform_reduce(team<Backend, Coherence, Protocols> team, First const& a, Second const& b,
                                 T init, Op op = {}, F f = {}) {
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

}  // namespace PGAS_NAMESPACE
