// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// What backends have in common: the ranks of a team, on one node. A backend that differs hides the member.
template <class Backend>
class team_backend {
 public:
  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] locality locality_of(rank_t rank) const {
    return rank == this->rank() ? locality::self : locality::node;
  }
  Backend sub_team(group members, rank_t rank) const {
    Backend sub = static_cast<Backend const&>(*this);
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

 protected:
  explicit team_backend(team_ranks ranks) noexcept : ranks_(std::move(ranks)) {}

  [[nodiscard]] team_ranks const& ranks() const noexcept { return ranks_; }

 private:
  team_ranks ranks_;
};

/// The same for ranks of a job, in the time of the world.
template <class Backend>
class job_backend : public team_backend<Backend> {
 public:
  /// See working_backend. It has no bell, so waits poll often.
  [[nodiscard]] std::unique_ptr<service> while_waiting(std::function<void()> work) const {
    return std::make_unique<service>(job_.block(), nullptr, std::move(work));
  }
  void fail(std::string_view what) const noexcept { job_.fail(what); }

  [[nodiscard]] static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}

 protected:
  explicit job_backend(job j) : job_backend(j, {j.rank(), j.size()}) {}
  job_backend(job j, team_ranks ranks) : team_backend<Backend>(std::move(ranks)), job_(std::move(j)) {}

  job job_;
};

/// The numbers of a backend's ranks in the job.
template <class Backend>
[[nodiscard]] std::vector<rank_t> world_ranks_of(Backend const& of) {
  std::vector<rank_t> all;
  all.reserve(static_cast<std::size_t>(of.size()));
  for (rank_t r = 0; r < of.size(); ++r) all.push_back(of.world_rank(r));
  return all;
}

}  // namespace PGAS_NAMESPACE::detail
