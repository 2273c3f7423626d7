// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <optional>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/mpi/bootstrap.hpp>
#include <pgas/detail/mpi/member.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::cluster {

/// One rank's membership in the job, and its wire. All waits of the rank serve the wire if the job has
/// several nodes. On one node they sleep as on process_map, until the first window over memory that ranks
/// already have.
class endpoint {
 public:
  explicit endpoint(MPI_Comm ranks)
      : member_(std::make_shared<mpi::member>(ranks, mpi::node_shares::memory)),
        wire_(std::make_shared<wire>(member_)) {
    if (has_nodes()) serve();
  }

  [[nodiscard]] std::shared_ptr<mpi::member> const& of_member() const noexcept { return member_; }
  [[nodiscard]] job const& of_job() const noexcept { return member_->of_job(); }
  [[nodiscard]] std::shared_ptr<wire> const& of_wire() const noexcept { return wire_; }
  /// The wire if the job has several nodes, else null.
  [[nodiscard]] std::shared_ptr<wire> between_nodes() const noexcept { return has_nodes() ? wire_ : nullptr; }
  [[nodiscard]] bool has_nodes() const noexcept {
    return static_cast<rank_t>(member_->together().size()) < of_job().size();
  }

  /// Makes all later waits of this rank serve the wire.
  void serve() {
    if (polls_) return;
    polls_.emplace(of_job().block(), nullptr, [this] { poll(); });
  }
  void poll() {
    wire_->poll();
    if (++polled_ % between_mail == 0) member_->poll();
  }

  /// Ends the membership. Collective.
  void leave() {
    polls_.reset();
    auto const serve = [this] { wire_->poll(); };
    member_->await_all(serve);
    wire_->close();
    member_->leave();
  }

 private:
  static constexpr unsigned between_mail = 64;

  std::shared_ptr<mpi::member> member_;
  std::shared_ptr<wire> wire_;
  std::optional<service> polls_;
  unsigned polled_ = 0;
};

/// The bootstrap of these ranks. No request of a rank is under way when the others leave a fence.
class rank_bootstrap : public mpi::rank_bootstrap {
 public:
  explicit rank_bootstrap(endpoint const& end) : mpi::rank_bootstrap(end.of_member()), wire_(end.of_wire()) {}

  void fence() const {
    wire_->drain();
    mpi::rank_bootstrap::fence();
  }

 private:
  std::shared_ptr<wire> wire_;
};
static_assert(bootstrap<rank_bootstrap>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::cluster
