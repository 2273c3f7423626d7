// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <exception>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/process/uncaught_since.hpp>
#include <pgas/detail/types/local_shared_ptr.hpp>
#include <pgas/detail/window/only_call.hpp>
#include <pgas/detail/window/state.hpp>
#include <pgas/vocabulary/error.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The state of an epoch object.
enum class epoch_phase : unsigned char {
  open,    ///< accesses are allowed
  closed,  ///< the epoch has ended
  moved,   ///< the epoch goes on in another object
};

/// Refuses a member of an epoch that is not open. Not inlined, so that a check costs a compare and a branch.
template <class State>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_epoch(State const& state, char const* operation, caller by,
                                                         epoch_phase phase) {
  throw_error_at(
      errc::wrong_order, state.job_rank(), {operation, by},
      {phase == epoch_phase::moved ? "the epoch has been moved to another object; call that object's member"
                                   : "the epoch is closed already; open another one"});
}

/// The name of an operation as a template argument, for errors, so that no call has to pass it.
template <std::size_t N>
struct operation_name {
  char text[N];  ///< the name and a 0

  /// Copies a string literal.
  consteval operation_name(char const (&name)[N]) { std::copy_n(name, N, text); }
  operator std::string_view() const noexcept { return {text, N - 1}; }
};

/// An epoch of any kind is open from construction until close() or destruction.
///
/// `Derived` has `finish()`, which ends the epoch and may throw, and `operation`, its name in messages. It
/// may hide `abandon()`, which ends the epoch while an exception passes.
template <class Derived, class State>
class epoch {
 public:
  /// Takes over an open epoch; `other` is closed then.
  epoch(epoch&& other) noexcept
      : state_(other.state_),  // not moved: a moved-from epoch says that it is closed, and on which rank
        span_(std::move(other.span_)),
        uncaught_(other.uncaught_),
        phase_(std::exchange(other.phase_, other.is_open() ? epoch_phase::moved : other.phase_)) {}
  epoch& operator=(epoch&&) = delete;

  /// Ends the epoch now, and throws the errors of its end. A second close is an error.
  void close() {
    check_open("close");
    only_call const call(*state_, "close");
    phase_ = epoch_phase::closed;
    static_cast<Derived&>(*this).finish();
    span_.end();
  }

  /// Returns whether the epoch is open: false after close(), and if it was moved from.
  [[nodiscard]] bool is_open() const noexcept { return phase_ == epoch_phase::open; }

  /// The state on which the epoch is open, for containers and for functions on epochs.
  [[nodiscard]] State& state() const noexcept { return *state_; }
  /// Throws errc::wrong_order unless the epoch is open.
  void check_open(called operation) const {
    PGAS_EXPECTS(light, is_open(), refuse_epoch(*state_, operation.operation(), operation.by(), phase_));
  }

 protected:
  /// Opens with `ranks`; an empty group means all ranks.
  explicit epoch(local_shared_ptr<State> const& state, group ranks = {}) noexcept
      : state_(state), span_(begin(ranks)) {}
  ~epoch() = default;

  /// The destructor of a Derived calls this. It closes the epoch, and keeps an error for the rank's next
  /// call. During stack unwinding it does not synchronize, but fails the job, so that no rank waits for this
  /// one.
  ///
  /// Inlined in that case, too: a call would keep the epoch's members in memory everywhere.
  [[gnu::always_inline]] void end() noexcept {
    if (!is_open()) return;
    phase_ = epoch_phase::closed;
    if (uncaught_.any()) [[unlikely]]
      return static_cast<Derived&>(*this).abandon();
    try {
      only_call const call(*state_, Derived::operation);
      static_cast<Derived&>(*this).finish();
    } catch (...) {
      state_->team->deferred->record(std::current_exception());
    }
  }

  /// Fails the job, so that no rank waits for this one.
  [[gnu::always_inline]] void abandon() noexcept { state_->abandon(Derived::operation); }
  /// Marks that a test found the epoch ended.
  void mark_closed() {
    phase_ = epoch_phase::closed;
    span_.end();
  }
  /// Returns whether the epoch goes on in another object.
  [[nodiscard]] bool is_moved_from() const noexcept { return phase_ == epoch_phase::moved; }
  /// Marks an epoch that could not be opened.
  void mark_never_open() noexcept {
    phase_ = epoch_phase::closed;
    span_.forget();
  }
  /// Marks the end of one epoch and the beginning of the next.
  void mark_next() {
    span_.end();
    span_ = begin({});
  }

  local_use<State> state_;  ///< shared, so that the window may be moved or destroyed before the epoch ends

 private:
  [[nodiscard]] auto begin(group ranks) const {
    return begin_span(state_->control, span_kind::epoch, Derived::operation, ranks);
  }

  [[no_unique_address]] span_on<typename State::control_type> span_;
  uncaught_since uncaught_;
  epoch_phase phase_ = epoch_phase::open;
};

}  // namespace PGAS_NAMESPACE::detail
