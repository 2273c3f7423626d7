// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>

namespace PGAS_NAMESPACE {

/// An epoch on all parts (passive target): this rank may access every part, and no owner need act.
///
/// One-sided. A rank flushes or closes to make its puts visible to ranks that flush or open afterwards. The
/// program orders its ranks itself, by atomic elements or by a barrier. Stores to this rank's own part need
/// care if other ranks may already put to it: a fence, a wait or a sync must follow them before this epoch
/// opens, because on memory with private copies the opening writes them back. Exclusive locks of other ranks
/// exclude the epoch, part by part. A rank that waits for one part while it holds another can take part in a
/// deadlock, as with all locks. MPI_Win_lock_all, MPI_Win_unlock_all; OpenSHMEM needs no such call.
template <class State, hints Hints = hints{.passive = true}>
class [[nodiscard("an epoch needs a name: write `pgas::lock_all epoch{window};`")]] lock_all
    : public detail::epoch<lock_all<State, Hints>, State>,
      public detail::accesses_to_all<lock_all<State, Hints>, State, Hints> {
  using base = detail::epoch<lock_all, State>;
  friend base;

 public:
  using base::state;
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "lock_all";

  /// Opens the epoch on window `w`. Requires no other access epoch of this rank on it.
  template <class Window, hints... Given>
    requires std::same_as<typename Window::state_type, State>
  [[nodiscard("an epoch needs a name: write `pgas::lock_all epoch{window};`")]] explicit lock_all(
      Window const& w, hint<Given>...)
      : base(w.shared_state()) {
    State& s = state();
    detail::only_call const call(s, operation);
    s.enter(operation, !s.is_accessing(),
            "an access epoch of this rank on the window is open; close it first");
    typename State::template boundary_type<boundary_of::own, opening_hints()> before(s.segment);
    before.publish(everyone);  // the refresh at opening may drop, and so lose, earlier own stores
    typename State::template boundary_type<boundary_of::both, opening_hints()> b(s.segment);
    auto const scope = as_shared_holder(s);
    s.lock.lock_all(b);
    s.access_open.begin_lock_all();
    if constexpr (may_hold_all) holds_all_ = s.lock.holds_all();
  }
  lock_all(lock_all&& other) noexcept
      : base(std::move(other)), holds_all_(std::exchange(other.holds_all_, false)) {}
  [[gnu::always_inline]] ~lock_all() { this->end(); }

  /// Ends the epoch: MPI's word for close().
  void unlock_all() { this->close(); }

  /// Makes this rank's copies agree with memory, own part included. This rank's stores are then visible to
  /// other ranks, and their puts are visible to this rank. Local. MPI_Win_sync.
  void sync() {
    this->check_open("sync");
    detail::only_call const call(state(), "sync");
    boundary b(state().segment);
    b.publish(everyone);
    b.refresh(everyone);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// Opens `target`'s part. Call it before a loop of single accesses. The first call for a target waits while
  /// another rank holds an exclusive lock on the part. Errors name `What`.
  template <detail::operation_name What = "to">
  [[nodiscard]] target_view<typename State::memory_state, Hints> to(rank_t target,
                                                                    detail::caller by = detail::here()) {
    if constexpr (!may_hold_all) this->check_open({What.text, by});
    state().check_rank(target, {What.text, by});
    if constexpr (may_hold_all) {
      if (!holds_all_) [[unlikely]]
        take<What>(target);  // the place of the call would be one more argument in each loop
    }
    if constexpr (!may_hold_all) {
      boundary b(state().segment);
      auto const scope = as_shared_holder(state());
      state().lock.trigger(target, b);
    }
    return {state(), target};
  }

 private:
  using boundary = typename State::template boundary_type<boundary_of::both, Hints>;

  static constexpr hints opening_hints() noexcept {
    hints h = Hints;
    h.no_put = false;  // no rank puts in this epoch, but one may have put before it
    return h;
  }

  /// The epochs of two ranks are in no order, like two shared locks.
  static auto as_shared_holder(State const& s) {
    return detail::order_as(s.control, order_scope::shared_holder);
  }

  /// Locks a part at its first access. Not inlined: an epoch that holds all parts tests one variable per
  /// access.
  template <detail::operation_name What>
  [[gnu::noinline]] void take(rank_t target) {
    this->check_open(What.text);
    boundary b(state().segment);
    auto const scope = as_shared_holder(state());
    state().lock.trigger(target, b);
  }

  [[gnu::always_inline]] void finish() {
    holds_all_ = false;
    release(state());
  }
  static void release(State& s) {
    s.access_open = false;
    s.elements.withdraw_all();
    boundary b(s.segment);
    auto const scope = as_shared_holder(s);
    s.lock.unlock_all(b);
  }

  static constexpr bool may_hold_all = whole_lock_protocol<typename State::lock_protocol>;

  bool holds_all_ = false;  ///< the epoch is open, and no part must be taken at its first access
};

template <class Window, hints... Given>
lock_all(Window const&, hint<Given>...)
    -> lock_all<typename Window::state_type, (hints{.passive = true} | ... | Given)>;

/// Does not compile: says how a lock_all is opened.
template <class None, hints Hints>
class lock_all<detail::misused<None>, Hints> {
  static_assert(
      detail::always_false<None>,
      "lock_all: write `pgas::lock_all epoch{window};` with one window or array; it is shared and takes "
      "neither a rank nor a kind, as `pgas::lock epoch{window, rank, pgas::exclusive};` does");

 public:
  /// Accepts any arguments, so that the message above is the only error.
  template <class... Arguments>
  explicit lock_all(Arguments const&...) {}
};
template <class None = void>
lock_all(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> lock_all<detail::misused<None>, hints{}>;

}  // namespace PGAS_NAMESPACE
