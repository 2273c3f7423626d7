// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/window/epoch.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Passive target: this rank may access every part, and no target takes part in it.
///
/// One-sided. Stores to the own part before it must have been followed by a fence, a wait or a sync if peers
/// may put there already: on memory with private copies, opening writes them back. What a rank puts is
/// visible to others that flush or open after it has flushed or closed. Order between ranks is the program's:
/// by atomic elements, or a barrier. Exclusive locks of others exclude it, part by part: a rank that waits
/// for one part while it holds another can take part in a deadlock, as with all locks. MPI_Win_lock_all.
template <class State, hints Hints = hints{.passive = true}>
class [[nodiscard]] lock_all : public detail::epoch<lock_all<State, Hints>, State>,
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
  [[nodiscard]] explicit lock_all(Window const& w, hint<Given>...) : base(w.shared_state()) {
    State& s = state();
    s.enter(operation, !s.is_accessing(), "an access epoch of this rank on the window is open; close it first");
    typename State::template boundary_type<boundary_of::own, opening_hints()> before(s.segment);
    before.publish(everyone);  // its own stores until now: the drop of the refresh may lose them
    typename State::template boundary_type<boundary_of::both, opening_hints()> b(s.segment);
    s.lock.lock_all(b);
    s.access_open = true;
    if constexpr (may_hold_all) holds_all_ = s.lock.holds_all();
  }
  lock_all(lock_all&& other) noexcept : base(std::move(other)), holds_all_(std::exchange(other.holds_all_, false)) {}
  ~lock_all() { this->end(); }

  /// Ends the epoch: MPI's word for close().
  void unlock_all() { this->close(); }

  /// Makes this rank's copies agree with memory, own part included: what it stored is visible to others, what
  /// they put is visible to it. Local. MPI_Win_sync.
  void sync() {
    this->check_open("sync");
    boundary b(state().segment);
    b.publish(everyone);
    b.refresh(everyone);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// Opens `target`'s part: take it before a loop of single accesses. Waits, the first time, while another
  /// rank holds an exclusive lock on it.
  [[nodiscard]] target_view<typename State::memory_state, Hints> to(rank_t target) {
    if constexpr (may_hold_all) {
      if (!holds_all_) [[unlikely]]
        take(target);
    } else {
      this->check_open("to");
    }
    state().check_rank(target, "to");
    if constexpr (!may_hold_all) {
      boundary b(state().segment);
      state().lock.trigger(target, b);
    }
    return {state(), target};
  }

 private:
  using boundary = typename State::template boundary_type<boundary_of::both, Hints>;

  static constexpr hints opening_hints() noexcept {
    hints h = Hints;
    h.no_put = false;  // nobody puts in this epoch, but somebody may have before it
    return h;
  }

  /// Not inlined, so that an epoch that holds all parts tests one variable at an access.
  [[gnu::noinline]] void take(rank_t target) {
    this->check_open("to");
    state().check_rank(target, "to");
    boundary b(state().segment);
    state().lock.trigger(target, b);
  }

  void finish() {
    State& s = state();
    s.access_open = holds_all_ = false;
    s.elements.leave_all();
    boundary b(s.segment);
    s.lock.unlock_all(b);
  }

  static constexpr bool may_hold_all = whole_lock_protocol<typename State::lock_protocol>;

  bool holds_all_ = false;  ///< the epoch is open, and no part needs to be taken at its first access
};

template <class Window, hints... Given>
lock_all(Window const&, hint<Given>...)
    -> lock_all<typename Window::state_type, (hints{.passive = true} | ... | Given)>;

}  // namespace pgas::inline PGAS_ASSERTIONS
