// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/access.hpp>
#include <pgas/detail/types/anything.hpp>

namespace PGAS_NAMESPACE {

/// An exposure epoch (active target): this rank's part is open to the ranks that it names until each has
/// completed.
///
/// Opening is local, and makes this rank's earlier stores to its part visible to the named ranks. Closing, or
/// `wait`, waits until each named rank has closed an access epoch that names this rank. Their puts are then
/// visible. While the epoch is open, this rank must not store to its part.
/// Costs a signal to each named rank, and a wait for a signal from each. MPI_Win_post, MPI_Win_wait.
template <class State, hints Hints = hints{}>
class [[nodiscard("an epoch needs a name: write `pgas::exposure epoch{window, origins};`")]] exposure
    : public detail::epoch<exposure<State, Hints>, State> {
  using base = detail::epoch<exposure, State>;
  friend base;

 public:
  using base::state;
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "exposure";

  /// Opens the epoch to the ranks of `origins`. Requires no other exposure of this rank on the window.
  template <class Window, hints... Given>
    requires std::same_as<typename Window::state_type, State>
  [[nodiscard("an epoch needs a name: write `pgas::exposure epoch{window, origins};`")]] exposure(
      Window const& w, detail::placed_group origins, hint<Given>...)
      : base(w.shared_state(), origins),
        origins_(detail::checked_group(w.state(), origins, {"post", origins.by()})) {
    State& s = state();
    detail::only_call const call(s, "post");
    s.enter("post", !s.exposure_open,
            "an exposure of this rank on the window is open; wait for its end first");
    boundary b(s.segment);
    s.post.post(origins_, b);
    s.exposure_open = true;
  }
  exposure(exposure&&) noexcept = default;
  ~exposure() { this->end(); }

  /// Ends the epoch: MPI's word for close().
  void wait() { this->close(); }

  /// Returns true if all origins have completed; the epoch has then ended. Never blocks. MPI_Win_test.
  /// Returns true if the epoch ended earlier. Throws errc::wrong_order if the epoch was moved from.
  [[nodiscard]] bool test() {
    if (this->is_moved_from()) this->check_open("test");
    if (!this->is_open()) return true;
    State& s = state();
    detail::only_call const call(s, "test");
    boundary b(s.segment);
    if (!s.post.test(origins_, b)) return false;
    s.exposure_open = false;
    this->mark_closed();
    return true;
  }

 private:
  using boundary = typename State::template boundary_type<boundary_of::own, Hints>;

  void finish() {
    State& s = state();
    s.exposure_open = false;
    // An open access epoch of this rank could make the wait a deadlock: the origins may wait for its
    // completion.
    PGAS_EXPECTS(
        light, !s.is_accessing(),
        detail::throw_error(errc::wrong_order, s.job_rank(), "wait",
                            "this rank's access epoch on the same window is still open; complete it first"));
    boundary b(s.segment);
    s.post.wait(origins_, b);
  }

  detail::small_group origins_;
};

template <class Window, hints... Given>
exposure(Window const&, detail::placed_group, hint<Given>...)
    -> exposure<typename Window::state_type, (hints{} | ... | Given)>;

/// Does not compile: says how an exposure is opened.
template <class None, hints Hints>
class exposure<detail::misused<None>, Hints> {
  static_assert(detail::always_false<None>,
                "exposure: write `pgas::exposure epoch{window, {1, 2}};` with the ranks that access this "
                "rank's part, as a list or a span of pgas::rank_t, which is int");

 public:
  /// Accepts any arguments, so that the message above is the only error.
  template <class... Arguments>
  explicit exposure(Arguments const&...) {}
};
template <class None = void>
exposure(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> exposure<detail::misused<None>, hints{}>;

}  // namespace PGAS_NAMESPACE
