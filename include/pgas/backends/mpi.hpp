// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/mpi/control.hpp>
#include <pgas/detail/backends/mpi/segment.hpp>
#include <pgas/detail/job/memory_limit.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/mpi/bootstrap.hpp>
#include <pgas/detail/mpi/mailbox.hpp>
#include <pgas/detail/mpi/shared_file.hpp>
#include <pgas/detail/types/sole_owner.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::backends {

/// Ranks are processes of an MPI program, on one node or on many, and MPI carries every access.
///
/// Windows are MPI-3 RMA: each is one window of MPI in a passive epoch for its life, a put is MPI_Put, a
/// flush is MPI_Win_flush, atomic operations and control words are MPI_Fetch_and_op and MPI_Compare_and_swap.
/// A rank carries out accesses to its part in MPI's hardware, or else in each blocking call of the library:
/// the progress is polled. Ranks of one node reach each other as fast as the MPI allows; `cluster` stores
/// straight into their memory.
///
/// `mpirun`, `mpiexec` and `srun` start the ranks. Without a launcher `run` replaces the process by one. The
/// program may have called MPI_Init_thread; then one thread of a rank at a time calls the library, as MPI's
/// level of threads allows. Requires the unified memory model.
/// Source: foMPI, Gerstenberger 2014, maps the same operations to Cray's network.
class mpi {
 public:
  using segment_type = detail::rma_segment;
  using control_type = detail::rma_control;
  using mailbox_type = detail::mpi::mailbox<detail::mpi::letters>;
  using file_type = detail::mpi::shared_file;
  using default_coherence = coherence::coherent;
  using user_segment_type = detail::rma_segment;
  using user_coherence = coherence::coherent;
  using handle =
      std::uint64_t;  ///< the number of a mailbox; of memory it says nothing: ranks attach together

  static constexpr std::string_view name = "mpi";
  static constexpr progress progress_by = progress::polled;

  /// The number of ranks, if a launcher of MPI has started this process, or the program has initialized MPI.
  [[nodiscard]] static std::optional<rank_t> launched_ranks() {
    return detail::mpi::session::launched_ranks();
  }

  /// Runs main(backend, bootstrap) on the processes of MPI_COMM_WORLD. If no launcher has started this
  /// process, a launcher takes its place, unless one rank is enough. Returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    if (ranks > 1 && !detail::mpi::session::is_there()) detail::mpi::start_by_launcher(ranks);
    detail::mpi::session::begin();
    return launch_on(MPI_COMM_WORLD, main);
  }
  /// The same on the processes of a communicator, which all call it. It works on duplicates.
  template <class Main>
  static detail::job launch_on(MPI_Comm ranks, Main const& main) {
    auto const mine = std::make_shared<detail::mpi::member>(ranks);
    detail::job job = mine->of_job();
    {
      detail::service const polls(job.block(), nullptr, [&] { mine->poll(); });
      detail::run_rank(job, [&] {
        detail::mpi::rank_bootstrap boot(mine);
        main(mpi(mine), boot);
      });
      constexpr auto nothing = [] {};
      mine->await_all(nothing);
      mine->leave();
    }
    if (job.failed()) throw error(job.failure_code(), job.failed_rank(), mine->failure_text());
    return job;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] locality locality_of(rank_t rank) const {
    if (rank == this->rank()) return locality::self;
    return member_->is_near(ranks_.to_world(rank)) ? locality::node : locality::remote;
  }

  /// Refuses what no node has room for. The memory itself is made by all ranks, in attach_segment.
  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::uint64_t const most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    if (std::uint64_t const left = detail::available_memory(most); most > left) {
      throw error(errc::no_space, world_rank(rank()), "reserve",
                  detail::text_of({most, " bytes were asked for on one rank: only ", left,
                                   " are left on this node; take less, or use more nodes"}));
    }
    return 0;
  }
  segment_type attach_segment(handle /*made*/, std::size_t own_bytes) const {
    return {{member_, team_, own_bytes}, ranks_, team_->get()};
  }
  static handle reserve_user_segment(std::span<std::size_t const> /*sizes*/) noexcept { return 0; }
  user_segment_type attach_user_segment(handle /*made*/, bytes_out own) const {
    return {{member_, team_, own}, ranks_, team_->get()};
  }
  static handle reserve_control(control_words /*words*/) noexcept { return 0; }
  control_type attach_control(handle /*made*/, control_words words, std::string_view label) const {
    return {{member_, team_, control_type::bytes(words)}, ranks_, words, label};
  }
  handle reserve_mailbox() const { return member_->of_mailboxes().new_number(member_->of_job().rank()); }
  mailbox_type attach_mailbox(handle made) const {
    return {{member_, &member_->of_mailboxes()}, member_->of_job(), made, ranks_};
  }
  [[nodiscard]] bool spans_nodes() const noexcept { return member_->has_nodes(); }
  mpi sub_team(group members, rank_t rank) const {
    mpi sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    auto const in_job = ranks_.to_world(members);
    sub.team_ = member_->communicator_of({in_job.begin(), in_job.end()});
    return sub;
  }

  /// A communicator of the team's ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() const { return team_->duplicate(); }

  /// See working_backend. It has no bell, so waits look often.
  [[nodiscard]] detail::sole_owner<detail::service> while_waiting(std::function<void()> work) const {
    return detail::sole_owner<detail::service>(
        new detail::service(member_->of_job().block(), nullptr, std::move(work)));
  }

  void fail(std::string_view what) const noexcept { member_->of_job().fail(what); }
  void check(std::string_view operation) const {
    member_->poll();
    member_->of_job().check(operation);
  }

  [[nodiscard]] static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}

 protected:
  explicit mpi(std::shared_ptr<detail::mpi::member> mine)
      : member_(std::move(mine)),
        team_(member_->world()),
        ranks_(member_->of_job().rank(), member_->of_job().size()) {}

 private:
  std::shared_ptr<detail::mpi::member> member_;
  std::shared_ptr<detail::mpi::communicator> team_;
  detail::team_ranks ranks_;
};
static_assert(mailbox_backend<mpi> && user_memory_backend<mpi> && file_backend<mpi>);

}  // namespace pgas::inline PGAS_ASSERTIONS::backends
