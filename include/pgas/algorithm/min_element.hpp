// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <pgas/algorithm/find.hpp>

namespace PGAS_NAMESPACE {

/// A cell's value and its global index.
template <class T, std::size_t N>
struct located {
  T value{};                           ///< the cell's value
  std::array<std::size_t, N> index{};  ///< its global index

  friend bool operator==(located const&, located const&) = default;
};

/// The smallest and the largest cell of an array.
template <class T, std::size_t N>
struct extremes {
  located<T, N> min;  ///< the smallest cell
  located<T, N> max;  ///< the largest cell

  friend bool operator==(extremes const&, extremes const&) = default;
};

namespace detail {

/// The cell that a rank offers as the smallest or the largest; the number is no_cell if the rank has none.
template <class T>
struct numbered {
  T value{};
  std::uint64_t number = no_cell;

  /// Keeps the other cell if it is better, or equally good with a smaller number.
  template <class Better>
  void improve(numbered const& other, Better& better) {
    if (other.number == no_cell) return;
    bool const is_better = number == no_cell || std::invoke(better, other.value, value) ||
                           (other.number < number && !std::invoke(better, value, other.value));
    if (is_better) *this = other;
  }
};

/// The smallest and the largest of this rank's own cells.
template <any_global_array Array, class Less, class Greater>
std::array<numbered<typename Array::value_type>, 2> own_extremes(Array const& a, Less& less,
                                                                 Greater& greater) {
  std::array<numbered<typename Array::value_type>, 2> own;
  auto const pitches = dense_pitches(a.extents());
  for_each_own_row(a, read_only, [&](auto const& index, auto row) {
    std::uint64_t const number = element_at(index, pitches);
    auto const of_row = [&](auto found) {
      return numbered<typename Array::value_type>{*found,
                                                  number + static_cast<std::uint64_t>(found - row.begin())};
    };
    // The first largest cell is the first smallest one in reversed order.
    own[0].improve(of_row(std::min_element(row.begin(), row.end(), std::ref(less))), less);
    own[1].improve(of_row(std::min_element(row.begin(), row.end(), std::ref(greater))), greater);
  });
  return own;
}

}  // namespace detail

/// Every rank returns the smallest and the largest cell with their global indices, or nothing for an array
/// without cells. Among equal cells the one with the smallest index in row-major order counts, for the
/// largest cell as well; std::minmax_element takes the last largest.
///
/// Collective over the team, which must be the array's; ranks may own nothing. The result is the same on
/// every layout and number of ranks.
/// Requires that less(a, b) is a strict weak order; floating-point arrays with NaN have none.
/// Throws errc::invalid_argument if the team is not the array's. Costs two cells per rank.
/// MPI: a local loop and MPI_Allreduce with MPI_MINLOC and MPI_MAXLOC; DASH: dash::min_element; the standard:
/// std::minmax_element.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          class Less = std::less<>>
  requires std::predicate<Less&, typename Array::value_type const&, typename Array::value_type const&>
[[nodiscard]] std::optional<extremes<typename Array::value_type, Array::dimensions>> minmax_element(
    team<Backend, Coherence, Protocols> team, Array const& a, Less less = {}) {
  using T = typename Array::value_type;
  detail::check_team(team, a, "minmax_element");
  auto greater = [&](T const& x, T const& y) -> bool { return std::invoke(less, y, x); };
  std::array<detail::numbered<T>, 2> best;
  for (auto const& one : team.all_gather(detail::own_extremes(a, less, greater))) {
    best[0].improve(one[0], less);
    best[1].improve(one[1], greater);
  }
  if (best[0].number == detail::no_cell) return std::nullopt;
  auto const located_at = [&](detail::numbered<T> const& one) {
    return located<T, Array::dimensions>{one.value, detail::index_of(one.number, a.extents())};
  };
  return extremes<T, Array::dimensions>{located_at(best[0]), located_at(best[1])};
}

/// Every rank returns the smallest cell with its index. Otherwise like minmax_element.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          class Less = std::less<>>
  requires std::predicate<Less&, typename Array::value_type const&, typename Array::value_type const&>
[[nodiscard]] std::optional<located<typename Array::value_type, Array::dimensions>> min_element(
    team<Backend, Coherence, Protocols> team, Array const& a, Less less = {}) {
  auto const both = minmax_element(team, a, std::move(less));
  return both ? std::optional(both->min) : std::nullopt;
}

/// Every rank returns the largest cell with its index. Otherwise like minmax_element.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          class Less = std::less<>>
  requires std::predicate<Less&, typename Array::value_type const&, typename Array::value_type const&>
[[nodiscard]] std::optional<located<typename Array::value_type, Array::dimensions>> max_element(
    team<Backend, Coherence, Protocols> team, Array const& a, Less less = {}) {
  auto const both = minmax_element(team, a, std::move(less));
  return both ? std::optional(both->max) : std::nullopt;
}

}  // namespace PGAS_NAMESPACE
