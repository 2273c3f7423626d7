// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <pgas/concepts/epoch.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>
#include <pgas/sync/signal_counts.hpp>
#include <pgas/window.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// A mask has an entry for each signal of a list, true or false, and any entry can be looked at:
/// std::array<bool, n>, std::vector<bool>, std::span<bool const>.
template <class M>
concept signal_mask = requires(M const& mask, std::size_t i) {
  { std::size(mask) } -> std::convertible_to<std::size_t>;
  { mask[i] } -> std::convertible_to<bool>;
};

/// Puts whose arrival the origin announces to the target, without ending an epoch or waiting for other ranks.
///
/// For accesses in a lock_all or fence epoch that both ranks have open. A signal has a tag, 0 to tags() - 1,
/// and goes from one rank to one rank. Signals of one source and tag are counted: none is lost, and each ends
/// one wait. After the wait, the rank sees what the source did before the signal: its puts to the waiting
/// rank's part, and its stores to the source's own part. It says nothing about signals to other ranks. Own
/// stores must not share cache lines with concurrent puts of other ranks. Before a signal about puts to a
/// third rank, the program flushes those puts. MPI has no equal; shmem_put_signal, shmem_signal_wait_until;
/// notified access (Belli and Hoefler 2015).
template <class State>
class signals {
 public:
  using value_type = typename State::value_type;

  /// Made by make_signals.
  signals(detail::local_shared_ptr<State> window, typename State::backend_type::control_type control,
          std::size_t tags)
      : window_(std::move(window)), parts_(new parts(std::move(control), tags)) {}
  signals(signals&&) noexcept = default;
  signals& operator=(signals&&) noexcept = default;

  /// The number of tags.
  [[nodiscard]] std::size_t tags() const noexcept { return parts_->counts.tags(); }

  /// Tells `target` that this rank's accesses to the target's part, and its stores to its own part, are
  /// complete.
  /// One-sided. `epoch` is the epoch of the accesses. Costs their completion at `target`, which an ordered
  /// segment needs not wait for, and one store there.
  template <open_epoch Epoch>
  void signal(Epoch& epoch, rank_t target, std::size_t tag = 0, detail::caller by = detail::here()) {
    check(target, tag, {"signal", by});
    check_same(epoch);
    typename State::template signal_boundary_type<boundary_of::both, Epoch::opened_with> b(window_->segment);
    parts_->counts.signal(target, tag, b);
  }

  /// Does not compile: says how put is called.
  template <class None = void>
  auto put(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
           detail::anything = {}) {
    static_assert(detail::always_false<None>,
                  "signals: write `signals.put(epoch, rank, index, value)` or `signals.put(epoch, rank, "
                  "index, values)` "
                  "with an open epoch on the window, and perhaps a tag");
  }
  /// Puts, then signals: epoch.put(target, first, values) and signal(epoch, target, tag). shmem_put_signal.
  template <open_epoch Epoch>
  void put(Epoch& epoch, rank_t target, std::size_t first, std::span<value_type const> values,
           std::size_t tag = 0, detail::caller by = detail::here()) {
    check(target, tag, {"put with signal", by});
    check_same(epoch);
    epoch.put(target, first, values, by);
    signal(epoch, target, tag, by);
  }
  /// Does not compile: says why the source may be no temporary object.
  template <open_epoch Epoch, detail::owning_temporary_of<value_type> R>
  void put(Epoch&, rank_t, std::size_t, R&&, std::size_t = 0) {
    detail::refuse_temporary_source<R>();
  }
  template <open_epoch Epoch>
  void put(Epoch& epoch, rank_t target, std::size_t i, value_type const& value, std::size_t tag = 0,
           detail::caller by = detail::here()) {
    put(epoch, target, i, std::span<value_type const>(&value, 1), tag, by);
  }

  /// Returns when `how_many` signals of `from` have come, and takes them. Throws errc::timed_out at the
  /// deadline, and then takes none. shmem_signal_wait_until.
  void wait(signal_from from, std::uint64_t how_many = 1, time_point deadline = no_deadline,
            detail::caller by = detail::here()) {
    check(from, {"wait for a signal", by});
    clean_own(from.source);
    boundary b(window_->segment);
    parts_->counts.wait(from, how_many, b, deadline);
  }

  /// Does not compile: says how a signal is named.
  template <std::integral Source>
  void wait(Source, std::uint64_t = 1, time_point = no_deadline) {
    static_assert(
        detail::always_false<Source>,
        "signals: name the sender in braces, `signals.wait({source})` or `signals.wait({source, tag})`");
  }

  /// Takes `how_many` signals of `from` if they have come, and returns whether it did. Never blocks.
  /// shmem_test.
  [[nodiscard]] bool test(signal_from from, std::uint64_t how_many = 1, detail::caller by = detail::here()) {
    check(from, {"test for a signal", by});
    if (parts_->counts.pending(from) < how_many) return false;
    clean_own(from.source);
    boundary b(window_->segment);
    return parts_->counts.test(from, how_many, b);
  }

  /// The number of signals of `from` that have come and not been taken. shmem_signal_fetch.
  [[nodiscard]] std::uint64_t pending(signal_from from, detail::caller by = detail::here()) const {
    check(from, {"pending", by});
    return parts_->counts.pending(from);
  }

  /// Waits until one of these has come, takes one signal of the first such entry, and returns the entry's
  /// index.
  /// Requires at least one entry. Throws errc::timed_out at the deadline. shmem_wait_until_any.
  [[nodiscard]] std::size_t wait_any(std::span<signal_from const> all, time_point deadline = no_deadline) {
    return wait_any_but(
        all, [](std::size_t) { return false; }, deadline);
  }
  /// The same for the entries that a mask does not skip: `skipped[i]` is true for each entry i that shall be
  /// left out, such as those that have come before. Requires an entry that is not skipped.
  template <signal_mask Mask>
  [[nodiscard]] std::size_t wait_any(std::span<signal_from const> all, Mask const& skipped,
                                     time_point deadline = no_deadline) {
    return wait_any_but(all, skip(all, skipped, "wait for any signal"), deadline);
  }

  /// Waits until one of these has come, takes one signal of each entry that has, and returns the entries'
  /// indices. shmem_wait_until_some.
  [[nodiscard]] std::vector<std::size_t> wait_some(std::span<signal_from const> all,
                                                   time_point deadline = no_deadline) {
    return wait_some_but(
        all, [](std::size_t) { return false; }, deadline);
  }
  /// The same for the entries that a mask does not skip.
  template <signal_mask Mask>
  [[nodiscard]] std::vector<std::size_t> wait_some(std::span<signal_from const> all, Mask const& skipped,
                                                   time_point deadline = no_deadline) {
    return wait_some_but(all, skip(all, skipped, "wait for some signals"), deadline);
  }

  /// Waits for one signal of each. shmem_wait_until_all.
  void wait_all(std::span<signal_from const> all, time_point deadline = no_deadline) {
    for (signal_from const& from : all) wait(from, 1, deadline);
  }
  /// The same for the entries that a mask does not skip; returns at once if it skips all.
  template <signal_mask Mask>
  void wait_all(std::span<signal_from const> all, Mask const& skipped, time_point deadline = no_deadline) {
    auto const left_out = skip(all, skipped, "wait for all signals");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!left_out(i)) wait(all[i], 1, deadline);
    }
  }

  /// From now on progress() calls handler() for each signal of `from`. A handler may put, signal and wait for
  /// others.
  void on_signal(signal_from from, std::function<void()> handler) {
    check(from, "on_signal");
    handlers_.push_back({from, std::move(handler)});
  }

  /// Calls the handlers of the signals that have come, and returns the number of calls. Never blocks by
  /// itself.
  std::size_t progress() {
    std::size_t calls = 0;
    for (std::size_t i = 0; i < handlers_.size(); ++i) {  // a handler may add another
      for (std::uint64_t left = pending(handlers_[i].from); left > 0 && test(handlers_[i].from); --left) {
        auto const handler = handlers_[i].run;
        handler();
        ++calls;
      }
    }
    return calls;
  }

 private:
  template <boundary_of Side>
  using boundary_type = typename State::template boundary_type<Side, hints{.passive = true}>;
  using boundary = boundary_type<boundary_of::both>;

  struct parts {
    parts(typename State::backend_type::control_type c, std::size_t tags)
        : control(std::move(c)), counts(control, tags) {}

    typename State::backend_type::control_type control;
    sync::signal_counts<typename State::backend_type::control_type> counts;
  };

  template <class Mask>
  [[nodiscard]] auto skip(std::span<signal_from const> all, Mask const& mask,
                          std::string_view operation) const {
    PGAS_EXPECTS(light, std::size(mask) == all.size(),
                 detail::throw_error(errc::invalid_argument, window_->job_rank(), operation,
                                     {"the mask has ", std::size(mask), " entries for a list of ", all.size(),
                                      "; give it one for each signal"}));
    return [&mask](std::size_t i) { return static_cast<bool>(mask[i]); };
  }
  template <class Skipped>
  std::size_t wait_any_but(std::span<signal_from const> all, Skipped const& skipped, time_point deadline) {
    constexpr char const* operation = "wait for any signal";
    [[maybe_unused]] bool named = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (skipped(i)) continue;
      check(all[i], operation);
      named = true;
    }
    PGAS_EXPECTS(light, named,
                 detail::throw_error(errc::invalid_argument, window_->job_rank(), operation,
                                     "no signal is named, so the wait would never end; name at least one"));
    boundary_type<boundary_of::own> own(window_->segment);
    own.publish(everyone);
    boundary b(window_->segment);
    return parts_->counts.wait_any(all, skipped, b, deadline);
  }
  template <class Skipped>
  std::vector<std::size_t> wait_some_but(std::span<signal_from const> all, Skipped const& skipped,
                                         time_point deadline) {
    std::vector<std::size_t> came{wait_any_but(all, skipped, deadline)};
    for (std::size_t i = came.front() + 1; i < all.size(); ++i) {
      if (!skipped(i) && test(all[i])) came.push_back(i);
    }
    return came;
  }

  // The refresh after a signal drops this rank's copies, so modified ones are written back first.
  void clean_own(rank_t source) {
    boundary_type<boundary_of::own> b(window_->segment);
    b.publish(group(&source, 1));
  }
  void check(signal_from from, detail::called operation) const { check(from.source, from.tag, operation); }
  void check(rank_t rank, std::size_t tag, detail::called operation) const {
    window_->check_rank(rank, operation);
    PGAS_EXPECTS(light, tag < tags(),
                 detail::throw_error_at(errc::out_of_range, window_->job_rank(), operation,
                                        {"tag ", tag, " of ", tags()}));
  }
  void check_same(open_epoch auto const& epoch) const {
    epoch.check_open("signal");
    State const& opened = epoch.state();
    PGAS_EXPECTS(
        light, &opened == &*window_,
        detail::throw_error(
            errc::invalid_argument, window_->job_rank(), "signal",
            "the epoch is on another window; open it on the window for which the signals were made"));
  }

  detail::local_shared_ptr<State> window_;
  std::unique_ptr<parts> parts_;
  /// A member of a template, so that a program without handlers does not compile a list of them.
  struct handler_of {
    signal_from from;
    std::function<void()> run;
  };
  std::vector<handler_of> handlers_;
};

/// Makes signals of `tags` kinds between the ranks of a window or an array.
///
/// Collective. Memory: ranks * tags control words on each rank. Throws errc::invalid_argument for no tags or
/// more than 2^24 words, errc::mismatch when ranks ask for different numbers, and errc::no_space when there
/// is too little memory.
template <class Window>
  requires requires { typename Window::state_type::memory_state; }
[[nodiscard]] auto make_signals(Window const& w, std::size_t tags = 1) {
  using state_type = typename Window::state_type::memory_state;
  using handle_type = typename state_type::backend_type::handle;
  using counts = sync::signal_counts<typename state_type::backend_type::control_type>;
  state_type& s = w.state();
  auto& members = *s.team;
  auto const words = counts::words(s.ranks(), tags);
  detail::handshake shake(members, "make_signals");
  shake.require_same(tags, "tags");
  std::size_t const most = counts::most_slots / static_cast<std::size_t>(s.ranks());
  if (tags == 0 || tags > most) {
    shake.refuse(errc::invalid_argument, detail::text_of({detail::as_given(tags), " tags; between ",
                                                          s.ranks(), " ranks there can be 1 to ", most}));
  }
  auto control = shake.attach(
      [&] { return members.backend.reserve_control(words); },
      [&](handle_type made) { return members.backend.attach_control(made, words, s.label + "'s signals"); });
  shake.conclude();
  return signals<state_type>(w.shared_state(), std::move(*control), tags);
}

/// The type of the signals of a window or an array, as make_signals returns it.
template <class Window>
using signals_of = signals<typename Window::state_type::memory_state>;

/// Does not compile: says how signals are made.
template <class None = void>
auto make_signals(detail::anything = {}, detail::anything = {}, detail::anything = {},
                  detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "make_signals: write `pgas::make_signals(window)` with a window or an array, and perhaps the "
                "number of tags");
}

}  // namespace PGAS_NAMESPACE
