// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/team/collectives_state.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// A collective that was started and may not have ended; each rank waits for its own, or tests it.
///
/// It goes on in `test`, in `wait`, in all collectives of its team, and, if another rank may need that, in
/// each wait of this rank's thread in the library. The memory that was given stays as it is until it has
/// ended. A request that is destroyed ends nothing. MPI: the request of MPI_Iallreduce and its like.
template <class State>
class collective_request {
 public:
  /// Made by the functions of `team.start()`. Both are null of one that has ended already.
  collective_request(std::shared_ptr<State> team, std::shared_ptr<detail::started_collective> one) noexcept
      : team_(std::move(team)), one_(std::move(one)) {}

  /// Returns whether this rank's part has ended. Never waits. Throws what ended it, if an error did.
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

}  // namespace pgas::inline PGAS_ASSERTIONS
