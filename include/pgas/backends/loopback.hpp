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
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/job/threads.hpp>
#include <pgas/detail/process/setting.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

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
class loopback {
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
    if (detail::setting::variable("PGAS_JOB_FD").given()) {
      throw error(
          errc::unsupported, detail::job::supervisor,
          "run: loopback ranks are threads of one process: start the program itself, without pgas-run");
    }
    auto job = detail::job::create(ranks, false);
    detail::loopback::agents const agents(job);
    detail::run_threads(job, [&](detail::job const& mine) {
      auto const& agent = agents.share(mine.rank());
      detail::loopback::rank_bootstrap boot(agent);
      main(loopback(agent), boot);
    });
    return job;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
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
      return {agent_, memory, own_bytes, ranks_};
    } catch (std::bad_alloc const&) {
      throw error(errc::no_space, agent_->rank(), "attach",
                  "there is no memory for " + std::to_string(own_bytes) + " bytes");
    }
  }
  /// The agent serves memory that its rank already has, wherever that memory lies.
  handle reserve_user_segment(std::span<std::size_t const>) const { return reserve(); }
  user_segment_type attach_user_segment(handle memory, bytes_out own) const {
    return {agent_, memory, own, ranks_};
  }
  handle reserve_control(control_words) const { return reserve(); }
  control_type attach_control(handle memory, control_words words, std::string_view label) const {
    return {agent_, memory, words, ranks_, label};
  }
  handle reserve_mailbox() const { return reserve(); }
  mailbox_type attach_mailbox(handle memory) const { return {agent_, memory, ranks_}; }
  loopback sub_team(group members, rank_t rank) const {
    loopback sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

  /// See working_backend. It has no bell, so waits poll often.
  [[nodiscard]] std::unique_ptr<detail::service> while_waiting(std::function<void()> work) const {
    return std::make_unique<detail::service>(agent_->of_job().block(), nullptr, std::move(work));
  }

  void fail(std::string_view what) const noexcept { agent_->of_job().fail(what); }
  void check(std::string_view operation) const { agent_->check(operation); }

  [[nodiscard]] static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}

 private:
  explicit loopback(std::shared_ptr<detail::loopback::agent> agent)
      : agent_(std::move(agent)), ranks_(agent_->rank(), agent_->of_job().size()) {}

  [[nodiscard]] handle reserve() const {
    std::vector<rank_t> holders(static_cast<std::size_t>(size()));
    for (rank_t rank = 0; rank < size(); ++rank) holders[static_cast<std::size_t>(rank)] = world_rank(rank);
    return agent_->reserve(std::move(holders));
  }

  std::shared_ptr<detail::loopback::agent> agent_;
  detail::team_ranks ranks_;
};
static_assert(mailbox_backend<loopback> && user_memory_backend<loopback>);

}  // namespace backends

}  // namespace pgas::inline PGAS_ASSERTIONS
