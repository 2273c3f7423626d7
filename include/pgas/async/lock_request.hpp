// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/lock.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// A lock that is asked for, as a request whose value is the open epoch: the result of `start_lock`.
template <class Window, lock_kind Kind>
class lock_request {
  using lock_type = typename decltype(try_lock(std::declval<Window const&>(), rank_t{},
                                               std::declval<lock_kind_constant<Kind>>()))::value_type;

 public:
  /// It holds nothing before it is done, and its destructor closes an epoch that was not taken.
  static constexpr bool is_droppable = true;

  /// start_lock calls it.
  lock_request(Window const& w, rank_t target) noexcept : window_(&w), target_(target) {}

  /// Returns whether the lock is held. Never waits for a holder.
  [[nodiscard]] bool test() {
    if (opened_) return true;
    if (auto now = try_lock(*window_, target_, lock_kind_constant<Kind>{}))
      opened_ = std::make_unique<lock_type>(std::move(*now));
    return opened_ != nullptr;
  }
  /// Returns when the lock is held. Takes the window's own queue, if it has one.
  void wait() {
    if (!opened_) opened_ = std::make_unique<lock_type>(*window_, target_, lock_kind_constant<Kind>{});
  }
  /// The epoch, once.
  [[nodiscard]] lock_type value() { return std::move(*opened_); }

 private:
  Window const* window_;
  rank_t target_;
  std::unique_ptr<lock_type> opened_;
};

/// Asks for a lock on one part: `auto epoch = co_await start_lock(w, rank, exclusive);`.
///
/// One-sided. Done when the lock is held. While other tasks of the rank are pending, the lock is tried again
/// and again, without a place in a queue. A lock that others hold most of the time may then come late. A task
/// that waits alone takes its place in the queue. Requires that the window outlives it. Costs one allocation.
/// MPI has no equal.
template <class Window, lock_kind Kind>
[[nodiscard]] lock_request<Window, Kind> start_lock(Window const& w, rank_t target,
                                                    lock_kind_constant<Kind>) noexcept {
  return {w, target};
}

}  // namespace pgas::inline PGAS_ASSERTIONS
