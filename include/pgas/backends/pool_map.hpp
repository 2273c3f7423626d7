// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <optional>
#include <pgas/backends/pool_map/memory.hpp>
#include <pgas/coherence/write_back.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/pool_map/control.hpp>
#include <pgas/detail/backends/pool_map/segment.hpp>
#include <pgas/detail/job/launch.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/types/sole_owner.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// Ranks that map memory of several hosts, which no hardware keeps coherent between them: CXL pools, PCI
/// memory.
///
/// Payload and control words lie in the memory that `Source` names. Only cache maintenance makes copies
/// agree. Puts pass the cache, and boundaries clean and drop. Each store cleans its control word, and each
/// load drops the word first. Hosts have no read-modify-write in common. Protocols therefore use slots only,
/// and a bakery guards elements.
///
/// So far the ranks are processes of one job on one host. Their start, supervision and failures use the job's
/// own memory. One job at a time uses the memory, and overwrites its contents. A lock on the bytes of the
/// file refuses a second job. The default is the path in PGAS_POOL; in code, use
/// `run<basic_pool_map<my_source>>(...)`, see pool_source.
template <pool_source Source, class Cache = processor_cache>
class basic_pool_map {
 public:
  using segment_type = detail::pool_segment<Cache>;
  using control_type = detail::pool_control<Cache>;
  using default_coherence = coherence::write_back;
  using handle = std::uint64_t;  ///< the offset of an extent

  static constexpr std::string_view name = "pool_map";
  static constexpr progress progress_by = progress::hardware;

  /// Runs main(backend, bootstrap) on `ranks` ranks, or on a launcher's ranks if one has started this
  /// process. Returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    std::optional<detail::pool<Cache>> inherited;  // by the ranks that this process starts
    if (!detail::launched_rank::find()) inherited = detail::pool<Cache>::map(Source::open());
    return detail::launch_processes(ranks, false, [&](detail::job const& mine) {
      auto const memory = inherited ? *inherited : detail::pool<Cache>::map(Source::open(), mine);
      auto const named = memory.watch(mine);
      detail::job own = mine;
      main(basic_pool_map(own, memory), own);
    });
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] locality locality_of(rank_t rank) const {
    return rank == this->rank() ? locality::self : locality::node;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return detail::pool_segment<Cache>::reserve(job_, pool_, sizes);
  }
  segment_type attach_segment(handle extent, std::size_t /*own_bytes*/) const {
    return {{job_, pool_, extent}, ranks_};
  }
  handle reserve_control(control_words words) const {
    return pool_.reserve(job_, detail::pool_control<Cache>::bytes(size(), words), size());
  }
  control_type attach_control(handle extent, control_words words, std::string_view label) const {
    return {{job_, pool_, extent}, ranks_, words, label};
  }
  basic_pool_map sub_team(group members, rank_t rank) const {
    basic_pool_map sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

  /// See working_backend. It has no bell, so waits look often.
  [[nodiscard]] detail::sole_owner<detail::service> while_waiting(std::function<void()> work) const {
    return detail::sole_owner<detail::service>(new detail::service(job_.block(), nullptr, std::move(work)));
  }

  void fail(std::string_view what) const noexcept { job_.mark_failed(job_.rank(), what); }
  void check(std::string_view operation) const { job_.check(operation); }

  [[nodiscard]] static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}

 private:
  basic_pool_map(detail::job const& j, detail::pool<Cache> p)
      : job_(j), pool_(std::move(p)), ranks_(j.rank(), j.size()) {}

  detail::job job_;
  detail::pool<Cache> pool_;
  detail::team_ranks ranks_;
};

namespace backends {
/// Ranks map the memory that PGAS_POOL names.
using pool_map = basic_pool_map<pool_from_environment>;
static_assert(backend<pool_map>);
}  // namespace backends

}  // namespace pgas::inline PGAS_ASSERTIONS
