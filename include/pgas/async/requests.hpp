// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <pgas/concepts/messenger.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/process/uncaught_since.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock.hpp>
#include <pgas/signals.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/called.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/request.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// The arrival of signals, as a request: the result of `arrival(signals, from)`. It takes them when it is
/// done.
template <class State>
class arrival_request {
 public:
  /// It takes nothing before it is done.
  static constexpr bool is_droppable = true;

  /// `arrival` calls it.
  arrival_request(signals<State>& of, signal_from from, std::uint64_t how_many) noexcept
      : of_(&of), from_(from), how_many_(how_many) {}

  /// Returns whether the signals have come, and takes them then. Never blocks.
  [[nodiscard]] bool test() {
    if (how_many_ != 0 && of_->test(from_, how_many_)) how_many_ = 0;
    return how_many_ == 0;
  }
  /// Returns when they have come, and takes them.
  void wait() {
    if (how_many_ != 0) of_->wait(from_, how_many_);
    how_many_ = 0;
  }

 private:
  signals<State>* of_;
  signal_from from_;
  std::uint64_t how_many_;  ///< 0: they have been taken
};

/// The arrival at this rank of `how_many` signals, with the puts before them: `co_await arrival(s,
/// {source});`.
///
/// One-sided. Done when they have arrived; a coroutine that is destroyed earlier takes none. Requires that
/// the signals outlive it. Costs a poll of one word. UPC++: remote completion by an RPC;
/// shmem_signal_wait_until.
template <class State>
[[nodiscard]] arrival_request<State> arrival(signals<State>& of, signal_from from,
                                             std::uint64_t how_many = 1) noexcept {
  return {of, from, how_many};
}

/// The end of a send or a receive of a messenger, as a request whose value is the envelope: the result of
/// `ended(messenger, request)`.
template <messenger Messenger>
class message_end {
 public:
  /// `ended` calls it.
  message_end(Messenger& of, message_request which) noexcept : of_(&of), which_(which) {}

  /// Returns whether the message has ended. Never blocks.
  [[nodiscard]] bool test() {
    if (!envelope_ && of_->is_done(which_)) wait();
    return envelope_.has_value();
  }
  /// Returns when it has.
  void wait() {
    if (!envelope_) envelope_ = of_->wait(which_);
  }
  /// The envelope, once it has ended.
  [[nodiscard]] arrived_message value() const { return *envelope_; }

 private:
  Messenger* of_;
  message_request which_;
  std::optional<arrived_message> envelope_;
};

/// Awaits a message: `auto const from = co_await ended(m, m.start_receive(any_sender, 7, into));`.
///
/// One-sided. Done when a sent message may change, or when a received one is here. A task that is destroyed
/// before waits for it. Requires that the messenger outlives it. Costs a poll of the messenger. MPI: the
/// request of MPI_Isend and MPI_Irecv.
template <messenger Messenger>
[[nodiscard]] message_end<Messenger> ended(Messenger& of, message_request which) noexcept {
  return {of, which};
}

namespace detail {

/// A flush of the segment of such an epoch can be under way while its rank goes on.
template <class Epoch>
concept flushes_beside = requires(Epoch& e) {
  requires started_flush_segment<std::remove_cvref_t<decltype(e.state().segment)>>;
  requires !cache_controlled<std::remove_cvref_t<decltype(e.state().segment)>>;
};

}  // namespace detail

/// Starts a flush of one target: `co_await start_flush(epoch, rank);`.
///
/// One-sided. Done when this rank's earlier puts to the target have arrived; the sources may then be reused,
/// too. Requires that the epoch is open to the target, and throws as `flush` does. Costs nothing on direct
/// memory, whose puts have arrived when they return, and a message there and back on loopback and simulated.
/// Other backends cannot start a flush, so there the call waits, and is done at its return. UPC++: operation
/// completion of a put; MPI has no equal.
template <class Epoch>
[[nodiscard]] auto start_flush(Epoch& epoch, rank_t target, detail::caller by = detail::here()) {
  detail::called const call("start_flush", by);
  epoch.check_open(call);
  epoch.state().check_rank(target, call);
  if constexpr (requires { epoch.check_target(call, target); }) epoch.check_target(call, target);
  if constexpr (detail::flushes_beside<Epoch>) {
    return epoch.state().segment.rflush(target);
  } else {
    epoch.flush(target);
    return done{};
  }
}

/// The same for all ranks that the epoch is open to.
template <class Epoch>
[[nodiscard]] auto start_flush(Epoch& epoch) {
  if constexpr (detail::flushes_beside<Epoch>) {
    epoch.check_open("start_flush");
    auto& segment = epoch.state().segment;
    joined_requests<decltype(segment.rflush(rank_t{}))> all;
    if constexpr (std::convertible_to<decltype(epoch.open_to()), group>) {
      for (rank_t const target : group(epoch.open_to())) all.add(segment.rflush(target));
    } else {
      for (rank_t target = 0; target < segment.size(); ++target) all.add(segment.rflush(target));
    }
    return all;
  } else {
    epoch.flush_all();
    return done{};
  }
}

namespace detail {

/// Starts a collective of a byte that ends on a rank only when all ranks have started it.
template <class Starter>
[[nodiscard]] auto start_meeting(Starter const& starter) {
  static constexpr std::uint8_t nothing = 0;
  // No rank reads the result. Memory of the thread outlives the collective, even if a request is dropped.
  static constinit thread_local std::uint8_t unread = 0;
  return starter.all_reduce(std::span(&nothing, 1), std::span(&unread, 1), op::max{});
}

}  // namespace detail

/// Starts a barrier: `co_await start_barrier(team);`. Tasks of the rank run meanwhile.
///
/// Collective: all ranks start it in the same order as the other collectives of the team. Done when every
/// rank has started it. Orders memory among the ranks, but makes no window's copies agree; the end of a fence
/// does both, see start_close. Costs as much as an all_reduce of a byte. MPI_Ibarrier; UPC++: barrier_async.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto start_barrier(team<Backend, Coherence, Protocols> const& team) {
  return detail::start_meeting(team.start());
}

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
  /// Returns when the lock is held. Uses the window's own queue, if it has one.
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
/// One-sided. Done when the lock is held. While other tasks of the rank are pending, the lock is tried
/// repeatedly, without a place in a queue. A lock that others hold most of the time may then come late. A
/// task that waits alone has a place in the queue. Requires that the window outlives it. Costs one
/// allocation.
/// MPI has no equal.
template <class Window, lock_kind Kind>
[[nodiscard]] lock_request<Window, Kind> start_lock(Window const& w, rank_t target,
                                                    lock_kind_constant<Kind>) noexcept {
  return {w, target};
}

namespace detail {

/// A fence epoch whose end is under way.
///
/// States: open, while other ranks have not come; closed. Source: MPI_Win_fence, with a started collective as
/// its barrier. Differs from the window's fence protocol, which waits in one call, and has words of its own.
/// The collective begins in the constructor, so that the program decides its place among the team's others.
template <class State, hints Hints>
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
    if (this->is_open()) finish_if([this] { return meeting_.test(); });
    return !this->is_open();
  }
  void wait() {
    if (!this->is_open()) return;
    finish_if([this] {
      meeting_.wait();
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
    s.elements.withdraw_all();
    boundary(s.segment).publish(everyone);
    return detail::start_meeting(starter(s.team));
  }
  /// Ends the epoch if all ranks have come. An error of the collective ends it, too.
  template <class Met>
  void finish_if(Met const& met) {
    State& s = this->state();
    try {
      if (!met()) return;
      only_call const call(s, "close");
      boundary(s.segment).refresh(everyone);
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

  decltype(detail::start_meeting(std::declval<starter const&>())) meeting_;
  uncaught_since uncaught_;
};

}  // namespace detail

/// The end of a fence epoch, as a request: the result of start_close. Its destructor waits for the end.
template <class State, hints Hints>
class close_request {
 public:
  /// start_close calls it.
  explicit close_request(fence<State, Hints>&& open)
      : of_(std::make_unique<detail::closing_fence<State, Hints>>(std::move(open))) {}

  /// Returns whether the epoch has ended. Never waits for another rank.
  [[nodiscard]] bool test() { return of_->test(); }
  /// Returns when the epoch has ended.
  void wait() { of_->wait(); }

 private:
  std::unique_ptr<detail::closing_fence<State, Hints>> of_;
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

}  // namespace PGAS_NAMESPACE
