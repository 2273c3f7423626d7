// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/team/same_ranks.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/window/window_boundary.hpp>
#include <pgas/epoch/epoch.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail {

/// The epoch of one window of a fence_all. Its accesses are those of a fence; its end is that of the
/// fence_all.
template <class State>
class fenced_window : public accesses_to_all<fenced_window<State>, State, hints{}> {
 public:
  explicit fenced_window(local_shared_ptr<State> const& state) noexcept : state_(state) {}
  fenced_window(fenced_window&& other) noexcept
      : state_(other.state_),
        phase_(std::exchange(other.phase_, other.is_open() ? epoch_phase::moved : other.phase_)) {}
  fenced_window& operator=(fenced_window&&) = delete;
  ~fenced_window() = default;

  /// Opens `target`'s part. Call it before a loop of single accesses. Costs only the look-up. Errors name
  /// `What`.
  template <operation_name What = "to">
  [[nodiscard]] target_view<typename State::memory_state, hints{}> to(rank_t target, caller by = here()) {
    check_open({What.text, by});
    state().check_rank(target, {What.text, by});
    return {state(), target};
  }

  [[nodiscard]] bool is_open() const noexcept { return phase_ == epoch_phase::open; }
  /// The state of the epoch's window.
  [[nodiscard]] State& state() const noexcept { return *state_; }
  /// Throws errc::wrong_order unless the fence_all is open.
  void check_open(called operation) const {
    PGAS_EXPECTS(light, is_open(), refuse_epoch(*state_, operation.operation(), operation.by(), phase_));
  }

  /// Marks the epoch as ended, for fence_all.
  void mark_closed() noexcept {
    phase_ = epoch_phase::closed;
    state().access_open = state().exposure_open = false;
    state().elements.withdraw_all();
  }

 private:
  local_shared_ptr<State> state_;
  epoch_phase phase_ = epoch_phase::open;
};

/// Throws unless all windows are different ones, with the same ranks in the same order.
template <class First, class... More>
void check_fenced_together(First const& first, More const&... more) {
  static_assert(
      (std::is_same_v<typename First::backend_type, typename More::backend_type> && ...),
      "fence_all: the windows are on different backends, whose ranks have no common barrier; fence each "
      "alone");
  auto const refuse = [&](char const* sentence) {
    throw_error(errc::invalid_argument, first.job_rank(), "fence_all", sentence);
  };
  std::array<void const*, 1 + sizeof...(More)> const all{&first, &more...};
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (std::find(all.begin(), all.begin() + i, all[i]) != all.begin() + i) {
      refuse("a window is given twice; name each window once");
    }
  }
  if ((!have_ranks_in_order(first, more) || ...)) {
    refuse(
        "the windows do not have the same ranks in the same order; fence windows of different teams one by "
        "one");
  }
}

}  // namespace detail

/// A fence of several windows or arrays at once, with one barrier at each end instead of one for each window.
///
/// Bind a name to each window's epoch: `auto [in, out] = pgas::fence_all{a, b};`, then `in.put(rank, i, v)`.
/// These epochs have the accesses of a fence, and end when the fence_all is closed or destroyed. To close it
/// before the end of a block, name it: `pgas::fence_all both{a, b};`, `auto& [in, out] = both;`.
///
/// Collective: opening and closing wait for every rank, as with fence. All ranks name the windows in one
/// order, because the barrier is that of the first window's fence protocol. The windows may differ in
/// elements, coherence and protocols. A fence_all takes no hints, since a hint is a promise about one window.
/// Throws errc::invalid_argument when a window is given twice or the windows have different ranks, and
/// errc::wrong_order when another epoch of this rank is open on one of them.
/// Costs two barriers in all, and for each window the work of its coherence policy at a fence. `next()` costs
/// one barrier.
/// MPI: MPI_Win_fence of each window, with one barrier for all; OpenSHMEM: shmem_barrier_all.
template <class First, class... More>
class [[nodiscard("an epoch needs a name: write `auto [a, b] = pgas::fence_all{v, w};`")]] fence_all
    : detail::epoch<fence_all<First, More...>, First> {
  using base = detail::epoch<fence_all, First>;
  friend base;

 public:
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "fence_all";

  /// Opens an epoch on each window. Requires no other access or exposure epoch of this rank on any of them.
  template <class... Windows>
    requires std::same_as<std::tuple<typename Windows::state_type...>, std::tuple<First, More...>>
  [[nodiscard("an epoch needs a name: write `auto [a, b] = pgas::fence_all{v, w};`")]] explicit fence_all(
      Windows const&... windows)
      : base(std::get<0>(std::tie(windows...)).shared_state()), each_(windows.shared_state()...) {
    if constexpr (assertions >= assertion_level::light) detail::check_fenced_together(windows.state()...);
    detail::only_call const call(*this->state_, operation);
    auto const enter = [](auto& s) {
      s.enter(operation, !s.is_accessing() && !s.exposure_open,
              "another epoch of this rank on a window is open; close it first");
    };
    (enter(windows.state()), ...);
    // No operation is outstanding when an epoch opens: only own stores are published.
    synchronize<hints{.read_only = true}>();
    ((windows.state().access_open = windows.state().exposure_open = true), ...);
  }
  fence_all(fence_all&&) noexcept = default;
  ~fence_all() { this->end(); }

  /// The epoch of window number `Number`, counted from 0 in the order of the constructor's arguments.
  template <std::size_t Number>
  [[nodiscard]] auto& get() noexcept {
    return std::get<Number>(each_);
  }

  using base::close;
  using base::is_open;

  /// Does not compile: the accesses are members of the epoch of each window.
  template <class... Arguments>
  auto put(Arguments const&...) const {
    refuse_access<Arguments...>();
  }
  /// Does not compile: says the same.
  template <class... Arguments>
  auto accumulate(Arguments const&...) const {
    refuse_access<Arguments...>();
  }

  /// Closes the epochs of all windows and opens the next ones, with one barrier. Collective.
  void next() {
    this->check_open("next");
    detail::only_call const call(*this->state_, "next");
    synchronize<hints{}>();
    this->mark_next();
  }

 private:
  template <class... Arguments>
  static void refuse_access() {
    static_assert(
        detail::always_false<Arguments...>,
        "fence_all: it holds an epoch for each window; write `auto [a, b] = pgas::fence_all{v, w};`, "
        "then `a.put(rank, index, value)`");
  }

  template <hints Hints>
  void synchronize() {
    std::apply(
        [this](auto&... one) {
          detail::joined_boundary<typename First::template boundary_type<boundary_of::both, Hints>,
                                  typename More::template boundary_type<boundary_of::both, Hints>...>
          all(one.state().segment...);
          detail::compare_call(this->state_->team->control, detail::collective_call("fence_all"),
                               this->state_->label);
          this->state_->fence.fence(all, operation);
        },
        each_);
  }

  void finish() {
    std::apply([](auto&... one) { (one.mark_closed(), ...); }, each_);
    synchronize<hints{}>();
  }

  std::tuple<detail::fenced_window<First>, detail::fenced_window<More>...> each_;
};

template <class... Windows>
fence_all(Windows const&...) -> fence_all<typename Windows::state_type...>;

/// Does not compile: says how windows are fenced together.
template <class None, class... More>
class fence_all<detail::misused<None>, More...> {
  static_assert(detail::always_false<None>,
                "fence_all: write `auto [a, b] = pgas::fence_all{v, w};` with windows or arrays, a name for "
                "each, and no hints");

 public:
  /// Accepts any arguments, so that the message above is the only error.
  template <class... Arguments>
  explicit fence_all(Arguments const&...) {}
};
template <class None = void>
fence_all(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> fence_all<detail::misused<None>>;

}  // namespace PGAS_NAMESPACE

template <class... States>
struct std::tuple_size<pgas::fence_all<States...>> : std::integral_constant<std::size_t, sizeof...(States)> {
};
template <std::size_t Number, class... States>
struct std::tuple_element<Number, pgas::fence_all<States...>> {
  using type =
      std::remove_reference_t<decltype(std::declval<pgas::fence_all<States...>&>().template get<Number>())>;
};
