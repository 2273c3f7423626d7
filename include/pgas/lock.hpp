// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// The kind of a lock as a type, so that its epoch knows at compile time whether it excludes all others.
template <lock_kind Kind>
struct lock_kind_constant {
  /// The kind.
  static constexpr lock_kind value = Kind;
};
/// The argument for a lock that other shared ones may share: `lock epoch{w, rank, shared};`. MPI_LOCK_SHARED.
inline constexpr lock_kind_constant<lock_kind::shared> shared{};
/// The argument for a lock that excludes all others: `lock epoch{w, rank, exclusive};`. MPI_LOCK_EXCLUSIVE.
inline constexpr lock_kind_constant<lock_kind::exclusive> exclusive{};

namespace detail {

/// Stands for a kind that the program chooses at run time.
inline constexpr auto kind_at_run_time = static_cast<lock_kind>(2);

/// The promise of a lock's kind about the accesses of its epoch. A kind that is not known counts as shared.
constexpr hints hints_of(lock_kind kind) noexcept {
  return {.passive = kind != lock_kind::exclusive, .alone = kind == lock_kind::exclusive};
}

/// The order that a lock of this kind promises. Two shared holders are in no order.
constexpr order_scope scope_of(lock_kind kind) noexcept {
  return kind == lock_kind::shared ? order_scope::shared_holder : order_scope::all;
}

}  // namespace detail

/// An epoch on one locked part (passive target): this rank may access the part, and its owner need not act.
///
/// One-sided. An exclusive lock excludes all other locks on the part, and lock_all; a shared lock excludes
/// exclusive ones. Opening waits until no such lock is held; with a deferred protocol the first access waits
/// instead. After opening, the puts of earlier holders are visible. After closing, this rank's puts are in
/// the part. The owner, too, loads from and stores to its part under a lock of its own. An exclusive epoch is
/// alone on the part: its atomic operations are plain loads and stores, and its bulk accumulates a plain
/// loop.
/// `lock epoch{w, rank, kind};` takes a lock_kind that the program chooses at run time. The accesses of such
/// an epoch are those of a shared one, so its atomic operations are atomic under an exclusive lock, too. A
/// rank may hold locks on several parts. Ranks that wait for each other's locks deadlock, which is found and
/// reported. Requires a lock protocol that can lock one part. MPI_Win_lock, MPI_Win_unlock; OpenSHMEM:
/// shmem_set_lock.
template <class State, lock_kind Kind, hints Hints>
class [[nodiscard("an epoch needs a name: write `pgas::lock epoch{window, rank, pgas::exclusive};`")]] lock
    : public detail::epoch<lock<State, Kind, Hints>, State>,
      public State::template accesses_type<lock<State, Kind, Hints>, Hints> {
  using base = detail::epoch<lock, State>;
  friend base;
  static_assert(target_lock_protocol<typename State::lock_protocol>,
                "lock: this window's lock protocol can only lock_all; choose protocols<..., sync::queued>, "
                "or sync::bakery where "
                "words have no read-modify-write");

 public:
  using base::state;
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "lock";

  /// Opens the epoch on `target`'s part. Requires no other epoch of this rank that accesses it.
  template <class Window, hints... Given>
    requires std::same_as<typename Window::state_type, State>
  [[nodiscard("an epoch needs a name: write `pgas::lock epoch{window, rank, pgas::exclusive};`")]] lock(
      Window const& w, detail::with_caller<rank_t> target, lock_kind_constant<Kind>, hint<Given>...)
      : lock(w.shared_state(), target, Kind, takes::now) {}
  template <class Window, hints... Given>
    requires(std::same_as<typename Window::state_type, State> && Kind == detail::kind_at_run_time)
  [[nodiscard("an epoch needs a name: write `pgas::lock epoch{window, rank, pgas::exclusive};`")]] lock(
      Window const& w, detail::with_caller<rank_t> target, lock_kind kind, hint<Given>...)
      : lock(w.shared_state(), target, kind, takes::now) {}
  lock(lock&&) noexcept = default;
  [[gnu::always_inline]] ~lock() { this->end(); }

  /// Opens the epoch if no other lock must be waited for, else returns nothing. Otherwise like the
  /// constructor.
  template <class Window>
    requires std::same_as<typename Window::state_type, State>
  static std::optional<lock> try_open(Window const& w, detail::with_caller<rank_t> target,
                                      lock_kind kind = Kind) {
    std::optional<lock> opened(lock(w.shared_state(), target, kind, takes::later));
    State& s = opened->state();
    bool holds = false;
    detail::only_call const call(s, operation);
    auto const scope = detail::order_as(s.control, detail::scope_of(kind));
    with_boundary(s, target, [&](auto& b) { holds = s.lock.try_lock(target, kind, b); });
    if (!holds) {
      s.access_open.end_lock(target);
      opened->mark_never_open();
      opened.reset();
    }
    return opened;
  }

  /// Ends the epoch: MPI's word for close().
  void unlock() { this->close(); }

  /// The rank whose part is locked.
  [[nodiscard]] rank_t target() const noexcept { return target_; }
  /// The ranks whose parts may be accessed: the target.
  [[nodiscard]] group open_to() const noexcept { return group(&target_, 1); }
  /// The same as flush of the target.
  void flush_all() { to<"flush_all">(target_).flush(); }
  /// The same as flush_local of the target.
  void flush_local_all() { to<"flush_local_all">(target_).flush_local(); }
  /// Opens the part. Call it before a loop of single accesses.
  [[nodiscard]] target_view<typename State::memory_state, Hints> to() { return to(target_); }
  /// The same for code that is written for any epoch. Throws errc::wrong_order if `rank` is not the target.
  /// Errors name `What`.
  template <detail::operation_name What = "to">
  [[nodiscard]] target_view<typename State::memory_state, Hints> to(rank_t rank,
                                                                    detail::caller by = detail::here()) {
    this->check_open({What.text, by});
    check_target({What.text, by}, rank);
    if constexpr (deferred_lock_protocol<typename State::lock_protocol>) {
      auto const scope = detail::order_as(state().control, detail::scope_of(kind()));
      with_boundary(state(), target_, [&](auto& b) { state().lock.first_access(target_, b); });
    }
    return {state(), target_};
  }
  /// Throws errc::wrong_order if `rank` is not the target.
  void check_target(detail::called what, rank_t rank) const {
    PGAS_EXPECTS(
        light, rank == target_,
        detail::throw_error_at(errc::wrong_order, state().job_rank(), what,
                               {"this lock is on rank ", target_, "'s part, not on rank ", rank, "'s"}));
  }

 private:
  enum class takes { now, later };
  using boundary = typename State::template boundary_type<boundary_of::remote, Hints>;
  lock(detail::local_shared_ptr<State> const& shared_state, detail::with_caller<rank_t> where, lock_kind kind,
       takes when)
      : lock(shared_state, where, where.by(), kind, when) {}
  lock(detail::local_shared_ptr<State> const& shared_state, rank_t target, detail::caller by, lock_kind kind,
       takes when)
      : base(shared_state, group(&target, 1)), target_(checked(target, by)), kind_{kind} {
    State& s = state();
    detail::only_call const call(s, operation);  // a thread that is refused leaves the epochs as they are
    s.deferred->rethrow();
    PGAS_EXPECTS(light, s.access_open.may_lock(target), refuse(s, target));
    s.access_open.begin_lock(target);
    // Not left to the destructor: a compiler calls it out of line for an exception, so that all members of
    // each lock would be in memory.
    try {
      if (!boundary::is_of_any_side && target == s.rank()) {
        typename State::template boundary_type<boundary_of::own, Hints> before(s.segment);
        before.publish(everyone);  // the refresh at opening may drop, and so lose, earlier own stores
      }
      if (when == takes::now) acquire();
    } catch (...) {
      abandon();
      throw;
    }
  }

  [[nodiscard]] rank_t checked(rank_t target, detail::caller by) const {
    state().check_rank(target, {operation.data(), by});
    return target;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(State const& s, rank_t target) {
    detail::throw_error(errc::wrong_order, s.job_rank(), operation,
                        s.access_open.has_lock(target)
                            ? "this rank has a lock on the part already; close it first"
                            : "an access epoch of this rank on the window is open; close it first");
  }

  void acquire() {
    State& s = state();
    auto const scope = detail::order_as(s.control, detail::scope_of(kind()));
    with_boundary(s, target_, [&](auto& b) { s.lock.lock(target_, kind(), b); });
  }
  [[nodiscard]] lock_kind kind() const noexcept { return kind_.value; }

  /// Calls use(boundary). A rank that locks its own part also loads from it and stores to it.
  template <class Use>
  static void with_boundary(State& s, rank_t target, Use&& use) {
    if (!boundary::is_of_any_side && target == s.rank()) {
      typename State::template boundary_type<boundary_of::both, own_hints()> b(s.segment);
      use(b);
    } else {
      boundary b(s.segment);
      use(b);
    }
  }
  static constexpr hints own_hints() noexcept {
    hints h = Hints;
    h.no_put = false;  // others may have put under locks before this one
    return h;
  }

  // Inlined, so that the members of a lock are in registers.
  [[gnu::always_inline]] void abandon() noexcept {
    base::abandon();
    state().access_open.end_lock(target_);
  }
  [[gnu::always_inline]] void finish() {
    State& s = state();
    // Not left to a destructor: see the constructor.
    try {
      release(s);
    } catch (...) {
      s.access_open.end_lock(target_);
      throw;
    }
    s.access_open.end_lock(target_);
  }
  void release(State& s) {
    if constexpr (Kind != lock_kind::exclusive) s.elements.withdraw_if_asked(target_);
    auto const scope = detail::order_as(s.control, detail::scope_of(kind()));
    with_boundary(s, target_, [&](auto& b) { s.lock.unlock(target_, kind(), b); });
  }

  /// The kind: a constant, or what the program chose.
  struct constant_kind {
    explicit constexpr constant_kind(lock_kind) noexcept {}
    static constexpr lock_kind value = Kind;
  };
  struct chosen_kind {
    lock_kind value;
  };

  rank_t target_;
  [[no_unique_address]] std::conditional_t<Kind == detail::kind_at_run_time, chosen_kind, constant_kind>
      kind_;
};

template <class Window, lock_kind Kind, hints... Given>
lock(Window const&, detail::with_caller<rank_t>, lock_kind_constant<Kind>, hint<Given>...)
    -> lock<typename Window::state_type, Kind, (detail::hints_of(Kind) | ... | Given)>;
template <class Window, hints... Given>
lock(Window const&, detail::with_caller<rank_t>, lock_kind, hint<Given>...)
    -> lock<typename Window::state_type, detail::kind_at_run_time,
            (detail::hints_of(detail::kind_at_run_time) | ... | Given)>;

/// Opens a lock epoch if no other lock must be waited for, else returns nothing. With `mailed_locks` it may
/// also return nothing while the release of the last holder is on its way. One-sided. MPI has no equal;
/// OpenSHMEM: shmem_test_lock; the C++ standard's try_lock may fail without a reason, too.
template <class Window, lock_kind Kind, hints... Given>
[[nodiscard]] auto try_lock(Window const& w, detail::with_caller<rank_t> target, lock_kind_constant<Kind>,
                            hint<Given>...) {
  return lock<typename Window::state_type, Kind, (detail::hints_of(Kind) | ... | Given)>::try_open(w, target);
}
template <class Window, hints... Given>
[[nodiscard]] auto try_lock(Window const& w, detail::with_caller<rank_t> target, lock_kind kind,
                            hint<Given>...) {
  return lock<typename Window::state_type, detail::kind_at_run_time,
              (detail::hints_of(detail::kind_at_run_time) | ... | Given)>::try_open(w, target, kind);
}

/// Does not compile: says how a lock is opened.
template <class None, lock_kind Kind, hints Hints>
class lock<detail::misused<None>, Kind, Hints> {
  static_assert(detail::always_false<None>,
                "lock: write `pgas::lock epoch{window, rank, pgas::exclusive};` with the rank whose part is "
                "locked, and pgas::exclusive or pgas::shared");

 public:
  /// Takes whatever is given, so that the sentence above is the only error.
  template <class... Arguments>
  explicit lock(Arguments const&...) {}
};
template <class None = void>
lock(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> lock<detail::misused<None>, lock_kind::shared, hints{}>;

}  // namespace PGAS_NAMESPACE
