// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/fence.hpp>
#include <pgas/team.hpp>

namespace PGAS_NAMESPACE {

/// The order in which reduce combines cells.
enum class reduction_order {
  by_owner,  ///< own cells, then the ranks' results in rank order: the same bits for the same layout and
             ///< ranks
  by_row     ///< the cells of each row, then the rows' results in order: the same bits on every layout
};

namespace detail {

/// Refuses another team than the array's: the collective call would wait for ranks that never join it.
template <class Team, class Array>
void check_team(Team const& team, Array const& a, std::string_view operation) {
  PGAS_EXPECTS(light,
               static_cast<void const*>(team.state().get()) == static_cast<void const*>(a.state().team.get()),
               throw error(errc::invalid_argument, a.state().job_rank(), operation,
                           "the team of " + std::to_string(team.size()) +
                               " ranks is not the team of the array of " + joined(a.extents(), " x ") +
                               " on " + std::to_string(a.ranks()) + " ranks; pass the array's team"));
}

template <class T, class Op>
void combine(std::optional<T>& so_far, T const& value, Op& op) {
  so_far = so_far ? std::optional<T>(op(*so_far, value)) : std::optional<T>(value);
}

/// Combines init and the results of all ranks that have one, in rank order.
template <class Team, class T, class Op>
T combine_ranks(Team& team, std::optional<T> const& mine, T init, Op& op) {
  struct offer {
    T value;
    std::uint8_t is_there;
  };
  for (offer const& one : team.all_gather(offer{mine.value_or(init), mine.has_value()})) {
    if (one.is_there != 0) init = op(init, one.value);
  }
  return init;
}

/// Folds this rank's share of the rows, whichever ranks own their cells. Each row is folded from its first
/// cell on.
template <class Array, class Op>
std::vector<typename Array::value_type> fold_rows(Array const& a, index_range rows, Op& op) {
  using T = typename Array::value_type;
  constexpr std::size_t dimensions = Array::dimensions;
  auto const pitches = dense_pitches(a.extents());
  std::size_t const length = a.extent(dimensions - 1);
  std::vector<T> results;
  std::vector<T> row(length);
  fence epoch{a, read_only};
  for (std::size_t r = rows.first; r < rows.first + rows.count; ++r) {
    box<dimensions> cells;
    for (std::size_t d = 0, rest = r * length; d < dimensions; rest %= pitches[d++])
      cells.first[d] = rest / pitches[d];
    cells.count.fill(1);
    cells.count[dimensions - 1] = length;
    epoch.get(cells, row);
    epoch.flush_local_all();
    T folded = row[0];
    for (std::size_t i = 1; i < length; ++i) folded = op(folded, row[i]);
    results.push_back(folded);
  }
  epoch.close();
  return results;
}

}  // namespace detail

/// Every rank returns op over init and all cells; `reduce(team, a, 0.0)` is the sum.
///
/// Collective over the team, which must be the array's; ranks may own nothing. op must be associative.
/// By owner, the default, each rank combines its own cells in the order of memory and sends one value. By
/// row, the result has the same bits on every layout, backend and number of ranks, but rows are fetched from
/// their owners, so all cells may travel.
/// Throws errc::invalid_argument if the team is not the array's.
/// MPI: a local loop and MPI_Allreduce; the standard: std::reduce.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          class Op = op::sum>
  requires operation_on<Op, typename Array::value_type>
[[nodiscard]] typename Array::value_type reduce(team<Backend, Coherence, Protocols> team, Array const& a,
                                                std::type_identity_t<typename Array::value_type> init,
                                                Op op = {},
                                                reduction_order order = reduction_order::by_owner) {
  using T = typename Array::value_type;
  detail::check_team(team, a, "reduce");
  if (order == reduction_order::by_owner) {
    std::optional<T> own;
    detail::for_each_own_row(a, read_only, [&](auto const&, auto row) {
      for (T const& cell : row) detail::combine(own, cell, op);
    });
    return detail::combine_ranks(team, own, init, op);
  }
  if (a.size() == 0) return init;
  // Rows are divided in blocks, so that their results stand in rank order.
  std::size_t const all = a.size() / a.extent(Array::dimensions - 1);
  block const shares(all, team.size());
  auto const mine = detail::fold_rows(a, shares.block_of(team.rank(), 0), op);
  auto results = make_array<T>(team, all);
  {
    auto const own = stage(results.window(), write_only);
    std::copy(mine.begin(), mine.end(), own.begin());
  }
  std::vector<T> rows(all);
  fence epoch{results, read_only};
  epoch.get(0, rows);
  epoch.close();
  for (T const& row : rows) init = op(init, row);
  return init;
}

/// Does not compile: says how cells are reduced.
template <class None = void>
auto reduce(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "reduce: write `pgas::reduce(team, array, 0.0)` with the team, an array, the value to begin "
                "with, and perhaps an operation such as `pgas::op::max{}`");
}

}  // namespace PGAS_NAMESPACE
