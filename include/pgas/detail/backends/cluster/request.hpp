// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/vocabulary/request.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::cluster {

/// The request of an rput or rget. A transfer on this node is over at once. The destructor waits for another,
/// since MPI uses private memory until then.
class transfer_request {
 public:
  transfer_request() = default;
  transfer_request(std::shared_ptr<wire> w, std::shared_ptr<transfer> of, rank_t target) noexcept
      : wire_(std::move(w)), of_(std::move(of)), target_(target) {}
  transfer_request(transfer_request&&) noexcept = default;
  transfer_request& operator=(transfer_request&& other) noexcept {
    std::swap(wire_, other.wire_);
    std::swap(of_, other.of_);
    std::swap(target_, other.target_);
    return *this;
  }
  ~transfer_request() {
    if (of_ && of_->open != 0) {
      wire_->start(target_);
      wire_->outlast(*of_);
    }
  }

  /// Returns whether the transfer is complete at this rank. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    if (!of_ || of_->open == 0) return true;
    wire_->start(target_);
    wire_->poll();
    wire_->owner().of_job().check("test");
    return of_->open == 0;
  }
  /// Returns when it is complete at this rank.
  void wait() {
    if (test()) return;
    wire_->await_transfer(*of_, target_, "wait");
  }

 private:
  std::shared_ptr<wire> wire_;
  std::shared_ptr<transfer> of_;
  rank_t target_ = -1;  ///< its number in the job
};
static_assert(request<transfer_request>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::cluster
