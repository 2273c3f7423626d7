// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <pgas/detail/backends/loopback/control.hpp>
#include <pgas/detail/backends/loopback/segment.hpp>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/job/threads.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail::loopback {

/// The bootstrap of a loopback job: the job's own, with a fence that also completes this rank's messages.
class rank_bootstrap {
 public:
  explicit rank_bootstrap(std::shared_ptr<agent> mine) noexcept : agent_(std::move(mine)) {}

  [[nodiscard]] rank_t rank() const noexcept { return agent_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return agent_->of_job().size(); }
  void put(std::string_view key, bytes_in value) const { agent_->of_job().put(key, value); }
  void get(std::string_view key, bytes_out into) const { agent_->of_job().get(key, into); }
  void fence() const {
    agent_->settle("run");
    agent_->of_job().fence();
  }
  void fail(std::string_view what) const noexcept { agent_->of_job().fail(what); }

 private:
  std::shared_ptr<agent> agent_;
};
static_assert(bootstrap<rank_bootstrap>);

}  // namespace detail::loopback

namespace backends {

/// Ranks are threads of one process that share no memory. Every access to another rank is a serialized
/// message.
///
/// Each rank has an agent: a Boost.Asio progress engine on a thread of its own. Only bytes cross between
/// ranks, from one agent's queue to another's. A rank that only computes therefore stays reachable, and a
/// missing fence shows: no memory is shared by accident. This backend is correct before it is fast; other
/// backends are compared with it. It needs two threads for each rank, and no descriptor.
class loopback : public detail::job_backend<loopback> {
 public:
  using segment_type = detail::message_segment;
  using control_type = detail::message_control;
  using mailbox_type = detail::message_mailbox;
  using default_coherence = coherence::coherent;
  using user_segment_type = detail::message_segment;
  using user_coherence = coherence::coherent;
  using handle = detail::loopback::memory_id;

  static constexpr std::string_view name = "loopback";
  static constexpr progress progress_by = progress::agent;

  /// Runs main(backend, bootstrap) on one thread for each rank, then ends the agents. Returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    detail::refuse_launcher("run: loopback ranks are threads of one process");
    auto job = detail::job::create(ranks, false);
    detail::loopback::agents const agents(job);
    detail::run_threads(job, [&](detail::job const& mine) {
      auto const& agent = agents.share(mine.rank());
      detail::loopback::rank_bootstrap boot(agent);
      main(loopback(agent), boot);
    });
    return job;
  }

  /// Only this rank's own memory is mapped.
  [[nodiscard]] locality locality_of(rank_t rank) const {
    return rank == this->rank() ? locality::self : locality::remote;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::uint64_t total = 0;
    for (std::size_t const bytes : sizes) {
      total = bytes > std::numeric_limits<std::uint64_t>::max() - total
                  ? std::numeric_limits<std::uint64_t>::max()
                  : total + bytes;
    }
    if (std::uint64_t const available = detail::available_memory(total); total > available) {
      throw error(errc::no_space, agent_->rank(), "reserve",
                  std::to_string(total) + " bytes were asked for: only " + std::to_string(available) +
                      " are left; take less, or use fewer ranks");
    }
    return reserve();
  }
  segment_type attach_segment(handle memory, std::size_t own_bytes) const {
    try {
      return {agent_, memory, own_bytes, ranks()};
    } catch (std::bad_alloc const&) {
      throw error(errc::no_space, agent_->rank(), "attach",
                  "there is no memory for " + std::to_string(own_bytes) + " bytes");
    }
  }
  /// The agent serves memory that its rank already has, wherever that memory lies.
  handle reserve_user_segment(std::span<std::size_t const>) const { return reserve(); }
  user_segment_type attach_user_segment(handle memory, bytes_out own) const {
    return {agent_, memory, own, ranks()};
  }
  handle reserve_control(control_words) const { return reserve(); }
  control_type attach_control(handle memory, control_words words, std::string_view label) const {
    return {agent_, memory, words, ranks(), label};
  }
  handle reserve_mailbox() const { return reserve(); }
  mailbox_type attach_mailbox(handle memory) const { return {agent_, memory, ranks()}; }

  void check(std::string_view operation) const { agent_->check(operation); }

 private:
  explicit loopback(std::shared_ptr<detail::loopback::agent> agent)
      : job_backend(agent->of_job()), agent_(std::move(agent)) {}

  [[nodiscard]] handle reserve() const { return agent_->reserve(detail::world_ranks_of(*this)); }

  std::shared_ptr<detail::loopback::agent> agent_;
};
static_assert(mailbox_backend<loopback> && user_memory_backend<loopback>);

}  // namespace backends

}  // namespace PGAS_NAMESPACE
