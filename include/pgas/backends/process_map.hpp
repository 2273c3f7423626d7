// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/coherence/separate.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/process_map/control.hpp>
#include <pgas/detail/backends/process_map/mailbox.hpp>
#include <pgas/detail/backends/process_map/process_memory.hpp>
#include <pgas/detail/backends/process_map/segment.hpp>
#include <pgas/detail/backends/process_map/user_segment.hpp>
#include <pgas/detail/job/launch.hpp>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/job/threads.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// The form of a process_map's ranks.
enum class ranks_are {
  processes,  ///< forked, or started by pgas-run
  threads,    ///< of one process
};

/// Ranks of one node that map the same memory: remote access is a load or a store.
///
/// All payload and control words are extents of one memfd, which `detail/job/job.hpp` makes and maps. `run`
/// forks the ranks, or pgas-run starts them; ranks that are threads are for sanitizers and debuggers.
template <ranks_are Kind>
class basic_process_map : public detail::job_backend<basic_process_map<Kind>> {
  using base = detail::job_backend<basic_process_map>;

 public:
  using segment_type = detail::mapped_segment;
  using control_type = detail::mapped_control;
  using mailbox_type = detail::mapped_mailbox;
  using user_segment_type = detail::user_segment;
  using user_coherence = coherence::separate;
  using default_coherence = coherence::coherent;
  using handle = std::uint64_t;  ///< the offset of an extent

  static constexpr std::string_view name = Kind == ranks_are::processes ? "process_map" : "thread_map";
  static constexpr progress progress_by = progress::hardware;

  /// Runs main(backend, bootstrap) on `ranks` ranks, or on a launcher's ranks if one has started this
  /// process. Returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    auto const body = [&main](detail::job const& mine) {
      detail::job own = mine;
      main(basic_process_map(own), own);
    };
    if constexpr (Kind == ranks_are::processes) {
      return detail::launch_processes(ranks, true, body);
    } else {
      auto job = detail::job::create(ranks);
      detail::run_threads(job, body);
      return job;
    }
  }

  using base::size;
  using base::world_rank;

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return detail::mapped_segment::reserve(job_, sizes);
  }
  segment_type attach_segment(handle extent, std::size_t /*own_bytes*/) const {
    return {{job_, extent}, ranks()};
  }
  /// Reserves the table of the parts' addresses only, since the memory that ranks already have stays in
  /// place.
  handle reserve_user_segment(std::span<std::size_t const> sizes) const {
    return reserve_segment(std::vector<std::size_t>(sizes.size(), user_segment_type::entry_bytes()));
  }
  user_segment_type attach_user_segment(handle extent, bytes_out own) const {
    return {attach_segment(extent, user_segment_type::entry_bytes()), ranks(), job_, own,
            Kind == ranks_are::threads};
  }
  handle reserve_control(control_words words) const {
    return job_.reserve(detail::mapped_control::bytes(size(), words), size());
  }
  control_type attach_control(handle extent, control_words words, std::string_view label) const {
    return {{job_, extent}, ranks(), words, label};
  }
  handle reserve_mailbox() const { return job_.reserve(mailbox_type::bytes(size()), size()); }
  mailbox_type attach_mailbox(handle extent) const { return {{job_, extent}, ranks()}; }

  /// See reaching_backend. Threads offer no private memory: a rank that throws frees it while others may copy
  /// from there, and a load does not fail as a system call does.
  [[nodiscard]] memory_place place_of(bytes_in memory) const noexcept {
    auto const place = peers().place_of(memory);
    bool const is_offered = Kind == ranks_are::processes || place.by == memory_place::reach::access;
    return is_offered ? place : memory_place{};
  }
  [[nodiscard]] std::byte* address_of(memory_place place) const noexcept { return peers().address_of(place); }
  void admit_peers() const noexcept {
    if constexpr (Kind == ranks_are::processes) detail::process_memory::admit_job();
  }
  [[nodiscard]] bool reaches(rank_t rank, memory_place place, bytes_in trial) const {
    return peers().reaches(world_rank(rank), place, trial);
  }
  void read_from(rank_t rank, memory_place place, bytes_out into, std::string_view operation) const {
    peers().read_from(world_rank(rank), place, into, operation);
  }
  void write_to(rank_t rank, memory_place place, bytes_in from, std::string_view operation) const {
    peers().write_to(world_rank(rank), place, from, operation);
  }

  void check(std::string_view operation) const { job_.check(operation); }

 protected:
  using base::ranks;

 private:
  using base::job_;

  [[nodiscard]] detail::peer_memory peers() const noexcept { return detail::peer_memory(job_); }

  explicit basic_process_map(detail::job const& j) : base(j) {}
};

namespace backends {
/// Ranks are processes of one node.
using process_map = basic_process_map<ranks_are::processes>;
/// Ranks are threads of one process: for sanitizers and debuggers.
using thread_map = basic_process_map<ranks_are::threads>;
static_assert(mailbox_backend<process_map> && mailbox_backend<thread_map>);
static_assert(user_memory_backend<process_map> && user_memory_backend<thread_map>);
static_assert(reaching_backend<process_map> && reaching_backend<thread_map>);
}  // namespace backends

}  // namespace PGAS_NAMESPACE
