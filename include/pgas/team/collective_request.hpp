// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/team/collectives_state.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

/// A collective that was started and may not have ended; each rank waits for its own, or tests it.
///
/// It progresses in `test`, in `wait`, in all collectives of its team, and, if another rank may need that, in
/// each wait of this rank's thread in the library. Do not change the memory before it has ended. Destroying a
/// request does not end the collective. MPI: the request of MPI_Iallreduce and its like.
template <class State>
class collective_request {
 public:
  /// Made by the functions of `team.start()`. Both are null if the collective has ended already.
  collective_request(std::shared_ptr<State> team, std::shared_ptr<detail::started_collective> one) noexcept
      : team_(std::move(team)), one_(std::move(one)) {}

  /// Returns whether this rank's part has ended. Never waits. Throws the error that ended it, if there was
  /// one.
  [[nodiscard]] bool test() {
    if (!one_) return true;
    team_->operations.test(*one_);
    if (one_->is_done) rethrow();
    return one_->is_done;
  }
  /// Returns when this rank's part has ended.
  void wait() {
    if (!one_) return;
    team_->operations.finish(*one_);
    rethrow();
  }

 private:
  void rethrow() {
    if (one_->error) std::rethrow_exception(std::exchange(one_->error, nullptr));
  }

  std::shared_ptr<State> team_;
  std::shared_ptr<detail::started_collective> one_;
};

}  // namespace PGAS_NAMESPACE
