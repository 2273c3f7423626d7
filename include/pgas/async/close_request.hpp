// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <memory>
#include <pgas/async/start_barrier.hpp>
#include <pgas/detail/process/uncaught_since.hpp>
#include <pgas/fence.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// The steps of a fence that is closed beside other work. A test leaves one out to see that it is needed.
struct close_steps {
  bool publishes = true;
  bool meets = true;
  bool refreshes = true;
};

/// A fence epoch whose end is under way.
///
/// States: open, while other ranks have not come; closed. Source: MPI_Win_fence, with a started collective as
/// its barrier. Differs from the window's fence protocol, which waits in one call, and has words of its own.
/// The collective begins in the constructor, so that the program decides its place among the team's others.
template <class State, hints Hints, close_steps Steps>
class closing_fence : fence<State, Hints> {
  using epoch_type = fence<State, Hints>;

 public:
  explicit closing_fence(epoch_type&& open) : epoch_type(checked(std::move(open))), meeting_(meet()) {}
  closing_fence(closing_fence const&) = delete;
  closing_fence& operator=(closing_fence const&) = delete;
  /// Ends the epoch. While an exception passes, the base fails the job instead, as every epoch does.
  ~closing_fence() {
    if (!this->is_open() || uncaught_.any()) return;
    try {
      wait();
    } catch (...) {
      this->state().team->deferred->record(std::current_exception());
    }
  }

  [[nodiscard]] bool test() {
    if (this->is_open()) {
      finish_if([this] { return !Steps.meets || meeting_.test(); });
    }
    return !this->is_open();
  }
  void wait() {
    if (!this->is_open()) return;
    finish_if([this] {
      if (Steps.meets) meeting_.wait();
      return true;
    });
  }

 private:
  // Like those of a fence that is closed by one call: the next epoch may get.
  static constexpr hints closing{.no_store = Hints.no_store,
                                 .no_put = Hints.no_put,
                                 .read_only = Hints.read_only,
                                 .write_only = false,
                                 .no_precede = false,
                                 .no_check = false,
                                 .no_succeed = Hints.no_succeed,
                                 .passive = false};
  using boundary = typename State::template boundary_type<boundary_of::both, closing>;
  using starter = collective_starter<typename State::backend_type>;

  static epoch_type&& checked(epoch_type&& open) {
    open.check_open("start_close");
    return std::move(open);
  }
  auto meet() {
    State& s = this->state();
    only_call const call(s, "start_close");
    s.elements.leave_all();
    if constexpr (Steps.publishes) boundary(s.segment).publish(everyone);
    return start_meeting(starter(s.team));
  }
  /// Ends the epoch if all ranks have come. An error of the collective ends it, too.
  template <class Met>
  void finish_if(Met const& met) {
    State& s = this->state();
    try {
      if (!met()) return;
      only_call const call(s, "close");
      if constexpr (Steps.refreshes) boundary(s.segment).refresh(everyone);
    } catch (...) {
      end_epoch();
      throw;
    }
    end_epoch();
  }
  void end_epoch() {
    this->state().access_open = this->state().exposure_open = false;
    this->mark_closed();
  }

  decltype(start_meeting(std::declval<starter const&>())) meeting_;
  uncaught_since uncaught_;
};

}  // namespace detail

/// The end of a fence epoch, as a request: the result of start_close. Its destructor waits for the end.
template <class State, hints Hints, detail::close_steps Steps = detail::close_steps{}>
class close_request {
 public:
  /// start_close calls it.
  explicit close_request(fence<State, Hints>&& open)
      : of_(std::make_unique<detail::closing_fence<State, Hints, Steps>>(std::move(open))) {}

  /// Returns whether the epoch has ended. Never waits for another rank.
  [[nodiscard]] bool test() { return of_->test(); }
  /// Returns when the epoch has ended.
  void wait() { of_->wait(); }

 private:
  std::unique_ptr<detail::closing_fence<State, Hints, Steps>> of_;
};

/// Closes a fence epoch beside other work: `co_await start_close(std::move(epoch));`.
///
/// Collective: every rank closes this epoch by start_close, and in the same order as it starts collectives of
/// the window's team. Done when every rank has called it: all puts are then visible to the owners of their
/// targets, as after `close`. Until then no other epoch opens on the window, and a destroyed task waits.
/// Throws errc::wrong_order if the epoch is not open. The request throws what waits throw.
/// Costs two allocations and an all_reduce of a byte. The call itself waits until this rank's puts have
/// arrived, and for no other rank; `co_await start_flush(epoch)` before it lets tasks go on meanwhile. MPI
/// has no equal, since MPI_Win_fence blocks.
template <class State, hints Hints>
[[nodiscard]] close_request<State, Hints> start_close(fence<State, Hints>&& epoch) {
  return close_request<State, Hints>(std::move(epoch));
}

}  // namespace pgas::inline PGAS_ASSERTIONS
