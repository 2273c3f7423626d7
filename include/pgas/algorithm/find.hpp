// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/algorithm/reduce.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// The number that stands for "no cell".
inline constexpr std::uint64_t no_cell = UINT64_MAX;

/// The global index of the cell with this number in row-major order.
template <std::size_t N>
constexpr std::array<std::size_t, N> index_of(std::uint64_t number,
                                              std::array<std::size_t, N> const& extents) noexcept {
  std::array<std::size_t, N> index{};
  for (std::size_t d = N; d-- > 0; number /= extents[d])
    index[d] = static_cast<std::size_t>(number % extents[d]);
  return index;
}

/// A predicate that can be called with a cell of the array.
template <class F, class Array>
concept predicate_on = std::predicate<F&, typename Array::value_type const&>;

/// The row-major number, in the whole array, of the first own cell for which holds(cell) is true, or no_cell.
template <any_global_array Array, class Holds>
std::uint64_t first_own(Array const& a, Holds& holds) {
  constexpr std::size_t last = Array::dimensions - 1;
  auto const pitches = dense_pitches(a.extents());
  std::uint64_t first = no_cell;
  for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
    // Tiles lie in memory in another order than in the array; the cells of one tile lie in the same order.
    auto const mine = a.layout().tile_of(a.rank(), k);
    std::array<std::size_t, Array::dimensions> row{};
    do {
      auto index = mine.cells.first;
      for (std::size_t d = 0; d < last; ++d) index[d] += row[d];
      std::uint64_t const number = element_at(index, pitches);
      if (number >= first) break;
      auto const cells = stage(a.window(), mine.offset_of(index), mine.cells.count[last], read_only);
      auto const found = std::find_if(cells.begin(), cells.end(), std::ref(holds));
      if (found != cells.end()) {
        first = std::min(first, number + static_cast<std::uint64_t>(found - cells.begin()));
        break;
      }
    } while (advance(row, mine.cells.count, last));
  }
  return first;
}

}  // namespace detail

/// Every rank returns the global index of the first cell for which holds(cell) is true, in row-major order of
/// the whole array, or nothing: `if (auto const at = find_if(team, a, is_zero)) use(a.at(*at));`.
///
/// Collective over the team, which must be the array's; ranks may own nothing. The result is the same on
/// every layout and number of ranks. holds is called for some cells only, each on its owner.
/// Throws errc::invalid_argument if the team is not the array's. Costs one value per rank.
/// MPI: a local loop and MPI_Allreduce with MPI_MIN; DASH: dash::find_if; the standard: std::find_if.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          detail::predicate_on<Array> Holds>
[[nodiscard]] std::optional<typename Array::index_type> find_if(team<Backend, Coherence, Protocols> team,
                                                                Array const& a, Holds holds) {
  detail::check_team(team, a, "find_if");
  std::uint64_t const first = team.all_reduce(detail::first_own(a, holds), op::min{});
  if (first == detail::no_cell) return std::nullopt;
  return detail::index_of(first, a.extents());
}

/// Every rank returns the index of the first cell equal to value. Otherwise like find_if.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array>
  requires std::equality_comparable<typename Array::value_type>
[[nodiscard]] std::optional<typename Array::index_type> find(
    team<Backend, Coherence, Protocols> team, Array const& a,
    std::type_identity_t<typename Array::value_type> const& value) {
  return find_if(team, a, [&](typename Array::value_type const& cell) { return cell == value; });
}

}  // namespace PGAS_NAMESPACE
