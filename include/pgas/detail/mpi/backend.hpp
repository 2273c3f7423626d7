// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/mpi/session.hpp>
#include <pgas/detail/mpi/shared_file.hpp>

namespace PGAS_NAMESPACE::detail::mpi {

/// What the backends of MPI programs have in common. Backend has launch_on(communicator, main).
template <class Backend>
class mpi_backend : public job_backend<Backend> {
 public:
  using file_type = shared_file;
  static constexpr progress progress_by = progress::polled;

  /// The number of ranks, if a launcher of MPI has started this process, or the program has initialized MPI.
  [[nodiscard]] static std::optional<rank_t> launched_ranks() { return session::launched_ranks(); }

  /// Runs main(backend, bootstrap) on the processes of MPI_COMM_WORLD. If no launcher has started this
  /// process, a launcher takes its place, unless one rank is enough. Returns the bootstrap.
  template <class Main>
  static job launch(rank_t ranks, Main const& main) {
    if (ranks > 1 && !session::is_there()) start_by_launcher(ranks);
    session::begin();
    return Backend::launch_on(MPI_COMM_WORLD, main);
  }

 protected:
  using job_backend<Backend>::job_backend;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
