// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

/// The ranks of two windows or arrays, which may be of different teams. `State` is that of a window.
namespace PGAS_NAMESPACE::detail {

/// Returns whether the two states belong to one team.
template <class A, class B>
bool are_of_one_team(A const& a, B const& b) noexcept {
  return static_cast<void const*>(a.team.get()) == static_cast<void const*>(b.team.get());
}

/// Returns whether both have the same ranks in the same order.
template <class A, class B>
bool have_ranks_in_order(A const& a, B const& b) {
  if (are_of_one_team(a, b)) return true;
  if (a.ranks() != b.ranks()) return false;
  for (rank_t rank = 0; rank < a.ranks(); ++rank) {
    if (a.team->backend.world_rank(rank) != b.team->backend.world_rank(rank)) return false;
  }
  return true;
}

/// The ranks that two windows or arrays have.
enum class common_ranks {
  all,           ///< both have the same ranks, in any order
  all_of_first,  ///< the second has those of the first, and more
  all_of_second,
  others,  ///< each has a rank that the other lacks
};

template <class State>
plain_list<rank_t> sorted_ranks(State const& state) {
  plain_list<rank_t> all(static_cast<std::size_t>(state.ranks()));
  for (rank_t rank = 0; rank < state.ranks(); ++rank)
    all[static_cast<std::size_t>(rank)] = state.team->backend.world_rank(rank);
  std::sort(all.begin(), all.end());
  return all;
}

template <class A, class B>
common_ranks ranks_in_common(A const& a, B const& b) {
  if (are_of_one_team(a, b)) return common_ranks::all;
  auto const first = sorted_ranks(a);
  auto const second = sorted_ranks(b);
  bool const has_first = std::includes(second.begin(), second.end(), first.begin(), first.end());
  bool const has_second = std::includes(first.begin(), first.end(), second.begin(), second.end());
  if (has_first) return has_second ? common_ranks::all : common_ranks::all_of_first;
  return has_second ? common_ranks::all_of_second : common_ranks::others;
}

/// A team instead of a window.
template <class Team>
struct ranks_of_team {
  explicit ranks_of_team(Team const& of) : team(of.state()) {}
  [[nodiscard]] rank_t ranks() const noexcept { return team->backend.size(); }
  std::remove_cvref_t<decltype(std::declval<Team const&>().state())> team;
};

/// Refuses two windows or arrays with different ranks: the call would wait for ranks that do not make it.
template <class A, class B>
[[noreturn, gnu::cold, gnu::noinline]] void throw_other_ranks(A const& a, B const& b,
                                                              std::string_view operation) {
  throw_error(errc::invalid_argument, a.job_rank(), operation,
              {"one is on a team of ", a.ranks(), " ranks and the other on one of ", b.ranks(),
               ", and not all ranks are in both, so they cannot all call this; make both on one team"});
}
template <class A, class B>
void check_same_ranks(A const& a, B const& b, std::string_view operation) {
  PGAS_EXPECTS(light, ranks_in_common(a, b) == common_ranks::all, throw_other_ranks(a, b, operation));
}

}  // namespace PGAS_NAMESPACE::detail
