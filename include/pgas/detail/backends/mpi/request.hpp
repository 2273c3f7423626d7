// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <memory>
#include <pgas/detail/mpi/member.hpp>
#include <pgas/vocabulary/request.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The request of an rput or rget: some requests of MPI, all on one transfer. MPI does not allow to drop one
/// that is under way, so the destructor waits for its completion at this rank.
class transfer_request {
 public:
  transfer_request() = default;
  explicit transfer_request(std::shared_ptr<member> mine) noexcept : member_(std::move(mine)) {}
  transfer_request(transfer_request&& other) noexcept = default;
  transfer_request& operator=(transfer_request&& other) noexcept {
    std::swap(member_, other.member_);
    std::swap(pieces_, other.pieces_);
    return *this;
  }
  ~transfer_request() {
    if (!pieces_.empty()) MPI_Waitall(static_cast<int>(pieces_.size()), pieces_.data(), MPI_STATUSES_IGNORE);
  }

  /// Adds a piece of the transfer.
  void add(MPI_Request piece) { pieces_.push_back(piece); }

  /// Returns whether all pieces are complete at this rank. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    if (pieces_.empty() || is_complete()) return true;
    // The end of an epoch has completed its requests. MPI may see that only after it has worked once more.
    member_->poll();
    member_->of_job().check("test");
    return is_complete();
  }
  /// Returns when all are complete at this rank.
  void wait() {
    if (!test()) member_->await([this] { return test(); }, {.operation = "wait"}, "a transfer");
  }

 private:
  [[nodiscard]] bool is_complete() {
    int complete = 0;
    check_call(MPI_Testall(static_cast<int>(pieces_.size()), pieces_.data(), &complete, MPI_STATUSES_IGNORE),
               "MPI_Testall");
    if (complete != 0) pieces_.clear();
    return complete != 0;
  }

  std::shared_ptr<member> member_;
  std::vector<MPI_Request> pieces_;
};
static_assert(request<transfer_request>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
