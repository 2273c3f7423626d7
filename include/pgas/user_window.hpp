// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/window.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE {

/// The way in which other ranks access memory that the program has allocated itself.
enum class reach {
  in_place,            ///< the memory itself; if the system forbids that, make_window throws
  in_place_or_copies,  ///< the memory itself if every rank can reach every other's, else copies of it
  copies,              ///< copies of it, which the boundaries of epochs make agree with the memory
};

namespace detail {

/// The choice in words: ranks must agree on it.
inline std::string_view name_of(reach how) noexcept {
  switch (how) {
    case reach::in_place:
      return "own memory+";
    case reach::in_place_or_copies:
      return "own memory or copies+";
    case reach::copies:
      return "own memory in copies+";
  }
  return "";
}

/// Finds out by a trial if all ranks reach each other's memory. Sets up copies if they cannot or shall not.
template <class Window, class Team>
void settle_reach(Team const& team, Window const& w, reach how) {
  constexpr std::string_view operation = "make_window";
  auto& members = *team.state();
  auto& own = w.state().segment;
  rank_t const self = w.state().job_rank();
  using obstacle = decltype(own.probe(probed_parts::all));
  rank_t who = -1;
  obstacle worst;  // the first; memory that its own rank cannot read comes before other obstacles
  auto const whose = how == reach::copies ? probed_parts::own : probed_parts::all;
  obstacle const mine = own.probe(whose);
  word obstacles = mine.is_there() ? 0 : 1;
  members.collectives.least(std::span(&obstacles, 1), operation);
  if (obstacles == 1 && how != reach::copies) return;  // no rank has met one
  members.collectives.all_gather(mine, operation, [&](rank_t rank, obstacle const& met) {
    if (!met.is_there() || (worst.is_there() && (worst.rank == who || met.rank != rank))) return;
    who = rank;
    worst = met;
  });
  if (worst.is_there() && worst.rank == who) {
    throw_error(errc::invalid_argument, self, operation, {own.describe(who, worst)});
  }
  if (worst.is_there() && how == reach::in_place) {
    throw_error(
        errc::unsupported, self, operation,
        {own.describe(who, worst),
         "; allow processes of one user to trace each other (ptrace_scope of Yama, a container's filter), "
         "let make_window allocate the memory, or ask for reach::in_place_or_copies"});
  }
  if (!worst.is_there() && how != reach::copies) return;
  handshake shake(members, operation);
  shake.attach(
      [&] {
        std::vector<std::size_t> sizes;
        sizes.reserve(static_cast<std::size_t>(team.size()));
        for (rank_t rank = 0; rank < team.size(); ++rank) sizes.push_back(own.part_bytes(rank));
        return members.backend.reserve_segment(sizes);
      },
      [&](typename Team::backend_type::handle made) {
        own.copy_through(members.backend.attach_segment(made, own.local().size()));
        return true;
      });
  shake.conclude();  // every copy has its memory's content before any rank accesses it
}

}  // namespace detail

/// Makes a window over memory that the program has allocated: this rank's part is `memory` with its present
/// content.
///
/// Collective over the team. All ranks ask for the same `how`; sizes may differ and be zero. local() is the
/// memory. Keep it until every rank's last epoch on the window has ended, for instance until a barrier after
/// that epoch.
///
/// Between processes a transfer is a system call (process_vm_readv, process_vm_writev), which makes one copy
/// and carries many rows at once; the target takes no part. Between threads a transfer is a copy; on loopback
/// the target's agent makes it. Accumulate and the atomic operations lock the target's part. If Yama lets
/// only ancestors trace a process, each rank permits its parent's descendants, and so its job. With copies,
/// each boundary of an epoch compares the own part with them. The team's coherence policy has no effect here:
/// the processor keeps the memory coherent, and `coherence::separate` the copies.
///
/// Memory: one line for each rank and node; with copies, two more of each part.
/// Throws, on every rank:
/// - errc::unsupported if a trial shows that a rank cannot reach another's memory and `how` allows no copies;
/// - errc::invalid_argument if a rank cannot read its own memory;
/// - errc::mismatch if ranks ask for different windows;
/// - errc::no_space if there is too little memory.
/// A later put or get throws errc::invalid_argument if the memory is gone or read-only.
/// MPI_Win_create; with copies, MPI's separate memory model. There is no equal of MPI_Win_create_dynamic:
/// make another window.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_window(team<Backend, Coherence, Protocols> const& team, std::span<T> memory,
                               reach how = reach::in_place) {
  static_assert(
      user_memory_backend<Backend>,
      "make_window: ranks of this backend cannot reach memory that it has not allocated; let it allocate, "
      "make_window<T>(team, size), and use local()");
  if constexpr (user_memory_backend<Backend>) {
    using segment_type = typename Backend::user_segment_type;
    using window_type = window<T, Backend, typename Backend::user_coherence, Protocols, segment_type>;
    auto made = detail::join_window<window_type>(
        team, memory.size(), detail::name_of(how),
        [](Backend& b, std::span<std::size_t const> sizes) { return b.reserve_user_segment(sizes); },
        [&](Backend& b, typename Backend::handle handle, std::size_t) {
          return b.attach_user_segment(handle, std::as_writable_bytes(memory));
        });
    if constexpr (probed_segment<segment_type>) detail::settle_reach(team, made, how);
    return made;
  }
}

/// Does not compile: says why T cannot be the type of elements.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!transportable<T> && std::is_object_v<T>)
auto make_window(team<Backend, Coherence, Protocols> const&, std::span<T>, reach = reach::in_place) {
  detail::refuse_type<T>();
}

/// The type of a window of T on a team over memory that the program has allocated, as make_window(team, span)
/// returns it.
template <class Team, transportable T>
  requires user_memory_backend<typename std::remove_cvref_t<Team>::backend_type>
using user_window_on = window<T, typename std::remove_cvref_t<Team>::backend_type,
                              typename std::remove_cvref_t<Team>::backend_type::user_coherence,
                              typename std::remove_cvref_t<Team>::protocols_type,
                              typename std::remove_cvref_t<Team>::backend_type::user_segment_type>;

}  // namespace PGAS_NAMESPACE
