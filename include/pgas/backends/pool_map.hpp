// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/pool_map/control.hpp>
#include <pgas/backends/pool_map/memory.hpp>
#include <pgas/backends/pool_map/segment.hpp>
#include <pgas/coherence/write_back.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/platform/job/launch.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Ranks that map memory which hosts share and no hardware keeps coherent between them: CXL pools, PCI memory.
///
/// Payload and control words lie in the memory that `Source` names, and agree by cache maintenance alone: puts go past
/// the cache, boundaries clean and drop, a control word is cleaned by each store and dropped before each load. There is
/// no read-modify-write between hosts, so protocols are made of slots, and elements are guarded by a bakery.
/// Ranks are processes of one job on one host so far; what starts and supervises them, and tells that one has failed,
/// is in the job's own memory. The memory is used by one job at a time, and what it held is lost. Default: the path in
/// PGAS_POOL. From code: `run<basic_pool_map<my_source>>(...)`, see pool_source.
template <pool_source Source, class Cache = processor_cache>
class basic_pool_map {
 public:
  using segment_type = detail::pool_segment<Cache>;
  using control_type = detail::pool_control<Cache>;
  using default_coherence = coherence::write_back;
  using handle = std::uint64_t;  ///< an extent's offset

  static constexpr std::string_view name = "pool_map";
  static constexpr progress progress_by = progress::hardware;

  /// Runs main(backend, bootstrap) on each rank, `ranks` of them unless a launcher has decided; returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    auto const memory = detail::pool<Cache>::map(Source::open());  // before there are ranks: they inherit the mapping
    return detail::launch_processes(ranks, false, [&](detail::job const& mine) {
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
using pool_map = basic_pool_map<pool_from_environment>;
static_assert(backend<pool_map>);
}  // namespace backends

}  // namespace pgas::inline PGAS_ASSERTIONS
