// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/rooted_control.hpp>
#include <pgas/detail/backends/checked/checker.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// See rooted_control. The root leaves its knowledge beside that of messages, for each rank of the team. A
/// rank may find there what a later call of the root has left: then it learns too much, and a race may be
/// missed.
template <class Rules>
class [[nodiscard]] rooted_order {
 public:
  /// `in_job` has the numbers of the team's ranks; `self` and `root` are numbers in the team.
  rooted_order(checker<Rules>& c, std::span<rank_t const> in_job, rank_t self, collective_order order,
               rank_t root)
      : checker_(&c), in_job_(in_job), self_(self), order_(order), root_(root) {
    if (!Rules::roots()) return;
    if (order_ == collective_order::from_root && self_ == root_) {
      for (rank_t r = 0; r < static_cast<rank_t>(in_job_.size()); ++r)
        if (r != root_) checker_->release(clock(root_, r));
    }
    before_ = checker_->begin_collective();
  }
  rooted_order(rooted_order const&) = delete;
  rooted_order& operator=(rooted_order const&) = delete;
  ~rooted_order() {
    bool const learns_all =
        order_ == collective_order::all || (order_ == collective_order::to_root && self_ == root_);
    if (!Rules::roots() || learns_all) return;
    checker_->end_collective(before_);
    // A job that has failed throws at its locks, and nothing is judged any more.
    if (order_ == collective_order::from_root && self_ != root_) checker_->try_acquire(clock(root_, self_));
  }

 private:
  [[nodiscard]] memory::locked_clock clock(rank_t from, rank_t to) const {
    auto const of = [&](rank_t r) { return in_job_[static_cast<std::size_t>(r)]; };
    return checker_->shared().clock_of_mail(of(from), of(to));
  }

  checker<Rules>* checker_;
  std::span<rank_t const> in_job_;
  rank_t self_;
  collective_order order_;
  rank_t root_;
  vector_clock before_{};  ///< what the program may rely on
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
