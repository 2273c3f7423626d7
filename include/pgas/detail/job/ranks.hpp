// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/process/uncaught.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>

namespace PGAS_NAMESPACE::detail {

/// The ranks of a team as numbers in the job: all of them without a list, or some with one.
class team_ranks {
 public:
  team_ranks(rank_t self, rank_t size) noexcept : self_(self), size_(size) {}

  /// The sub-team of `members`, which are numbers in this team. This rank has number `self` in the sub-team.
  [[nodiscard]] team_ranks sub_team(group members, rank_t self) const {
    team_ranks sub(self, static_cast<rank_t>(members.size()));
    sub.world_ = std::make_shared<plain_list<rank_t>>(to_world(members));
    return sub;
  }

  [[nodiscard]] rank_t self() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }
  [[nodiscard]] rank_t to_world(rank_t rank) const noexcept {
    return world_ ? (*world_)[static_cast<std::size_t>(rank)] : rank;
  }
  [[nodiscard]] plain_list<rank_t> to_world(group ranks) const {
    plain_list<rank_t> world(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) world[i] = to_world(ranks[i]);
    return world;
  }
  /// The awaited ranks, as numbers in the job: all others, if the wait acquires a lock and names none.
  [[nodiscard]] plain_list<rank_t> awaited(waiting_for const& why) const {
    if (why.acquires == waiting_for::no_part || !why.awaited.empty()) return to_world(why.awaited);
    plain_list<rank_t> others;
    for (rank_t rank = 0; rank < size_; ++rank) {
      if (rank != self_) others.push_back(to_world(rank));
    }
    return others;
  }
  /// The same reason with the number of the part in the job.
  [[nodiscard]] waiting_for in_job(waiting_for why) const noexcept {
    if (why.acquires >= 0) why.acquires = to_world(why.acquires);
    return why;
  }

 private:
  rank_t self_;
  rank_t size_;
  std::shared_ptr<plain_list<rank_t>> world_;
};

/// Runs one rank's main and records its end in the job; returns true if main returned.
template <class Main>
bool run_rank(job const& j, Main&& main) noexcept {
  rank_t const self = j.rank();
  uncaught_errors::in_body const inside;
  j.mark_running();
  try {
    main();
    return true;
  } catch (error const& e) {
    j.mark_cause(e.description(), static_cast<errc>(e.code().value()));
  } catch (std::exception const& e) {
    j.mark_cause(text_of({"rank ", self, " threw: ", e.what()}));
  } catch (...) {
    j.mark_cause(text_of({"rank ", self, " threw something that is no std::exception"}));
  }
  return false;
}

/// Throws the job's failure, if there is one. A supervisor calls it last.
inline void throw_failure(job const& j) {
  if (j.failed()) throw_error(j.failure_code(), j.failed_rank(), {j.failure_text()});
}

}  // namespace PGAS_NAMESPACE::detail
