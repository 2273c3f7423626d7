// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/cluster/team.hpp>
#include <pgas/detail/backends/process_map/process_memory.hpp>
#include <pgas/detail/mpi/backend.hpp>
#include <utility>

namespace PGAS_NAMESPACE::backends {

/// Ranks are processes of an MPI program on many nodes. Those of a node load and store each other's memory;
/// messages of MPI carry everything else.
///
/// On one node it works as process_map does, and no rank sends a message. A rank carries out the requests of
/// other nodes in each blocking call of the library: between nodes the progress is polled. cluster/wire.hpp
/// says how messages travel.
///
/// `mpirun`, `mpiexec` and `srun` start the ranks. Without a launcher `run` replaces the process by one. The
/// program may have called MPI_Init_thread; then one thread of a rank at a time calls the library, as MPI's
/// level of threads allows. PGAS_NODE_SIZE, which all ranks must agree on, makes nodes of so many ranks.
class cluster : public detail::mpi::mpi_backend<cluster> {
 public:
  using segment_type = detail::cluster_segment;
  using control_type = detail::cluster_control;
  using mailbox_type = detail::cluster_mailbox;
  using default_coherence = coherence::coherent;
  using user_segment_type = detail::cluster_user_segment;
  using user_coherence = coherence::coherent;
  using handle = std::uint64_t;  ///< an extent of the node, or a number that all nodes know

  static constexpr std::string_view name = "cluster";

  /// Runs main(backend, bootstrap) on the processes of a communicator, which all call it. It works on
  /// duplicates. Returns the bootstrap.
  template <class Main>
  static detail::job launch_on(MPI_Comm ranks, Main const& main) {
    auto const end = std::make_shared<detail::cluster::endpoint>(ranks);
    detail::job job = end->of_job();
    detail::run_rank(job, [&] {
      detail::cluster::rank_bootstrap boot(*end);
      main(cluster(end), boot);
    });
    end->leave();
    if (job.failed()) throw error(job.failure_code(), job.failed_rank(), end->of_member()->failure_text());
    return job;
  }

  [[nodiscard]] locality locality_of(rank_t rank) const {
    if (rank == this->rank()) return locality::self;
    return team_->near().index_of(rank) >= 0 ? locality::node : locality::remote;
  }

  /// Refuses parts for which this node has no room.
  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return team_->name([&] { return detail::mapped_segment::reserve(job_, sizes); });
  }
  segment_type attach_segment(handle made, std::size_t own_bytes) const {
    return team_->attach_segment(made, own_bytes);
  }
  handle reserve_user_segment(std::span<std::size_t const> /*sizes*/) const { return team_->new_name(); }
  user_segment_type attach_user_segment(handle made, bytes_out own) const {
    end_->serve();
    return team_->attach_user_segment(made, own);
  }
  handle reserve_control(control_words words) const {
    return team_->name([&] { return job_.reserve(detail::mapped_control::bytes(size(), words), size()); });
  }
  control_type attach_control(handle made, control_words words, std::string_view label) const {
    return team_->attach_control(made, words, label);
  }
  handle reserve_mailbox() const {
    return team_->name([&] { return job_.reserve(mailbox_type::near_bytes(size()), size()); });
  }
  mailbox_type attach_mailbox(handle made) const { return team_->attach_mailbox(made); }
  [[nodiscard]] bool spans_nodes() const noexcept { return end_->has_nodes(); }
  cluster sub_team(group members, rank_t rank) const {
    return cluster(end_, ranks().sub_team(members, rank));
  }

  /// See backend_of_nodes.
  [[nodiscard]] node_ranges nodes() const { return team_->nodes(); }

  // The memory of ranks of this node, see reaching_backend.

  [[nodiscard]] memory_place place_of(bytes_in memory) const noexcept { return peers().place_of(memory); }
  [[nodiscard]] std::byte* address_of(memory_place place) const noexcept { return peers().address_of(place); }
  static void admit_peers() noexcept { detail::process_memory::admit_job(); }
  [[nodiscard]] bool reaches(rank_t rank, memory_place place, bytes_in trial) const {
    return peers().reaches(world_rank(rank), place, trial);
  }
  void read_from(rank_t rank, memory_place place, bytes_out into, std::string_view operation) const {
    peers().read_from(world_rank(rank), place, into, operation);
  }
  void write_to(rank_t rank, memory_place place, bytes_in from, std::string_view operation) const {
    peers().write_to(world_rank(rank), place, from, operation);
  }

  /// The number of packets that this rank has sent to other ranks, for tests and benchmarks.
  [[nodiscard]] std::uint64_t packets_sent() const noexcept { return end_->of_wire()->sent(); }
  /// The number of long puts and gets that are under way, to and from this rank, for tests.
  [[nodiscard]] std::size_t long_under_way() const noexcept { return end_->of_wire()->long_under_way(); }
  /// A communicator of the team's ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() const { return team_->duplicate(); }

  void check(std::string_view operation) const {
    if (end_->has_nodes()) {
      end_->poll();
      end_->of_member()->poll();
    }
    job_.check(operation);
  }

 protected:
  explicit cluster(std::shared_ptr<detail::cluster::endpoint> const& end)
      : cluster(end, {end->of_job().rank(), end->of_job().size()}) {}

 private:
  cluster(std::shared_ptr<detail::cluster::endpoint> end, detail::team_ranks ranks)
      : mpi_backend(end->of_job(), ranks),
        end_(std::move(end)),
        team_(std::make_shared<detail::cluster::team>(*end_, std::move(ranks))) {}

  [[nodiscard]] detail::peer_memory peers() const noexcept { return detail::peer_memory(job_); }

  std::shared_ptr<detail::cluster::endpoint> end_;
  std::shared_ptr<detail::cluster::team> team_;
};
static_assert(mailbox_backend<cluster> && user_memory_backend<cluster> && file_backend<cluster>);
static_assert(backend_of_nodes<cluster> && reaching_backend<cluster>);

}  // namespace PGAS_NAMESPACE::backends
