// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/team.hpp>
#include <pgas/vocabulary/op.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// Starts a collective of a byte that ends on a rank only when all ranks have started it.
template <class Starter>
[[nodiscard]] auto start_meeting(Starter const& starter) {
  static constexpr std::uint8_t nothing = 0;
  // Nobody reads the result. Memory of the thread outlives the collective, also where a request is dropped.
  static constinit thread_local std::uint8_t unread = 0;
  return starter.all_reduce(std::span(&nothing, 1), std::span(&unread, 1), op::max{});
}

}  // namespace detail

/// Starts a barrier: `co_await start_barrier(team);`. Tasks of the rank go on meanwhile.
///
/// Collective: all ranks start it in the same order as the other collectives of the team. Done when every
/// rank has started it. Orders memory among the ranks, but makes no window's copies agree; the end of a fence
/// does both, see start_close. Costs as much as an all_reduce of a byte. MPI_Ibarrier; UPC++: barrier_async.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto start_barrier(team<Backend, Coherence, Protocols> const& team) {
  return detail::start_meeting(team.start());
}

}  // namespace pgas::inline PGAS_ASSERTIONS
