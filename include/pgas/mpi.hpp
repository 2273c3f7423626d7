// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/cluster.hpp>
#include <pgas/backends/mpi.hpp>
#include <pgas/run.hpp>

/// The library inside a program that uses MPI itself.
///
/// The program may call `pgas::run<pgas::backends::cluster>`, the same on `mpi`, and the functions here
/// between MPI_Init and MPI_Finalize, at any level of threads, from the thread that may call MPI. The library
/// never uses MPI_COMM_WORLD or another communicator of the program: it duplicates them. A window over memory
/// of the program, for example from MPI_Alloc_mem, is `make_window(team, span)`. A rank in a blocking call of
/// MPI serves no other node: let the ranks meet in a barrier of the team before such a call.
namespace PGAS_NAMESPACE::mpi {

/// The ranks of such a backend are processes of a communicator.
template <class B>
concept backend_on_processes = backend<B> && requires(B const& b) {
  { b.duplicate() } -> std::same_as<MPI_Comm>;
};

/// Runs body(team) on the processes of a communicator, which are the team's ranks in the same order, and
/// returns rank 0's result on each of them. Collective over the communicator.
///
/// Processes outside the communicator take no part. Throws `error` if a rank has failed, as pgas::run does.
/// Costs three duplicates of the communicator and a window of MPI. MPI: the functions of the program between
/// MPI_Comm_create and MPI_Comm_free.
template <backend_on_processes Backend = backends::cluster, class Body>
auto run(MPI_Comm ranks, Body const& body) {
  using team_type = team<Backend, typename Backend::default_coherence, default_protocols_on<Backend>>;
  detail::mpi::session::begin();
  return detail::run_body<team_type>(
      body, [ranks](std::span<std::byte> result, detail::rank_body<team_type> const& rank) {
        auto job = Backend::launch_on(ranks, detail::rank_main<team_type>(result.size(), rank));
        if (!result.empty()) job.get("result", result);
      });
}

/// Returns a communicator of the team's ranks in the same order, for calls of MPI. The program frees it by
/// MPI_Comm_free. Collective over the team. MPI_Comm_dup.
template <backend_on_processes Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] MPI_Comm communicator(team<Backend, Coherence, Protocols> const& of) {
  return of.state()->backend.duplicate();
}

}  // namespace PGAS_NAMESPACE::mpi
