// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>

namespace PGAS_NAMESPACE {

/// A fence epoch (active target, all ranks): while it is open, every rank may access every part.
///
/// Collective: opening and closing each wait for every rank of the window. After opening, earlier stores of
/// all ranks to their own parts are visible to all. After closing, all puts are visible to the owners of
/// their targets. `next()` is one fence between two epochs. The hint no_precede omits the fence at the
/// opening.
/// Costs a barrier at each end. MPI_Win_fence; OpenSHMEM: shmem_barrier_all.
template <class State, hints Hints = hints{}>
class [[nodiscard("an epoch needs a name: write `pgas::fence epoch{window};`")]] fence
    : public detail::epoch<fence<State, Hints>, State>,
      public detail::accesses_to_all<fence<State, Hints>, State, Hints> {
  using base = detail::epoch<fence, State>;
  friend base;

 public:
  using base::state;
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "fence";

  /// Opens the epoch on window `w`. Requires no other access or exposure epoch of this rank on it.
  template <class Window, hints... Given>
    requires std::same_as<typename Window::state_type, State>
  [[nodiscard("an epoch needs a name: write `pgas::fence epoch{window};`")]] explicit fence(Window const& w,
                                                                                            hint<Given>...)
      : base(w.shared_state()) {
    State& s = this->state();
    detail::only_call const call(s, operation);
    s.enter(operation, !s.is_accessing() && !s.exposure_open,
            "another epoch of this rank on the window is open; close it first");
    if constexpr (!Hints.no_precede) {
      // No operation is outstanding when an epoch opens: only own stores are published.
      constexpr hints opening = Hints | hints{.read_only = true};
      typename State::template boundary_type<boundary_of::both, opening_hints(opening)> b(s.segment);
      detail::compare_call(s.team->control, detail::collective_call("fence"), s.label);
      s.fence.fence(b, operation);
    }
    s.access_open = s.exposure_open = true;
  }
  fence(fence&&) noexcept = default;
  ~fence() { this->end(); }

  /// Closes this epoch and opens the next one, with one fence instead of two. Collective.
  void next() {
    this->check_open("next");
    detail::only_call const call(state(), "next");
    synchronize<hints{.write_only = Hints.write_only}>();
    this->mark_next();
  }

  /// Opens `target`'s part. Call it before a loop of single accesses. Costs only the look-up. Errors name
  /// `What`.
  template <detail::operation_name What = "to">
  [[nodiscard]] target_view<typename State::memory_state, Hints> to(rank_t target,
                                                                    detail::caller by = detail::here()) {
    this->check_open({What.text, by});
    this->state().check_rank(target, {What.text, by});
    return {this->state(), target};
  }

 private:
  static constexpr hints opening_hints(hints h) noexcept {
    h.write_only = Hints.write_only;
    h.no_succeed = false;
    h.no_put = false;  // no rank puts in this epoch, but one may have put before it
    return h;
  }

  template <hints Erased>
  void synchronize() {
    State& s = state();
    // MPI's model allows own stores between fences, so the closing fence publishes them too.
    constexpr hints closing{.no_store = Hints.no_store,
                            .no_put = Hints.no_put,
                            .read_only = Hints.read_only,
                            .write_only = Erased.write_only,
                            .no_precede = false,
                            .no_check = false,
                            .no_succeed = Erased.no_succeed,
                            .passive = false};
    typename State::template boundary_type<boundary_of::both, closing> b(s.segment);
    detail::compare_call(s.team->control, detail::collective_call("fence"), s.label);
    s.fence.fence(b, operation);
  }

  void finish() {
    State& s = state();
    s.access_open = s.exposure_open = false;
    s.elements.withdraw_all();
    // The next epoch may get, and may open without a fence of its own.
    synchronize<hints{.no_succeed = Hints.no_succeed}>();
  }
};

template <class Window, hints... Given>
fence(Window const&, hint<Given>...) -> fence<typename Window::state_type, (hints{} | ... | Given)>;

/// Does not compile: says how a fence is opened.
template <class None, hints Hints>
class fence<detail::misused<None>, Hints> {
  static_assert(detail::always_false<None>,
                "fence: write `pgas::fence epoch{window};` with one window or array, and hints such as "
                "pgas::read_only behind it; `auto [a, b] = pgas::fence_all{v, w};` takes several windows");

 public:
  /// Accepts any arguments, so that the message above is the only error.
  template <class... Arguments>
  explicit fence(Arguments const&...) {}
};
template <class None = void>
fence(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> fence<detail::misused<None>, hints{}>;

}  // namespace PGAS_NAMESPACE
