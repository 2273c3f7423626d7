// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// The ranks that an epoch names, as its constructor takes them, with the place of its call: a group, or what
/// converts to one, or ranks in braces.
class placed_group {
 public:
  template <class Ranks>
    requires std::is_convertible_v<Ranks const&, group>
  placed_group(Ranks const& ranks, caller by = here()) : ranks_(ranks), by_(by) {}
  placed_group(std::initializer_list<rank_t> ranks, caller by = here()) noexcept
      : ranks_(ranks.begin(), ranks.size()), by_(by) {}
  operator group() const noexcept { return ranks_; }
  [[nodiscard]] caller by() const noexcept { return by_; }

 private:
  group ranks_;  ///< lives as long as the call
  caller by_;
};

/// The ranks of an epoch. Up to eight need no allocation.
class small_group {
 public:
  explicit small_group(group given) : size_(given.size()) {
    if (size_ > few_.size()) [[unlikely]] {
      take_many(given);
      return;
    }
    // Copied one by one: a copy of unknown length would call memmove.
    for (std::size_t i = 0; i < few_.size(); ++i) {
      if (i == size_) break;
      few_[i] = given[i];
    }
  }
  operator group() const noexcept { return size_ <= few_.size() ? group(few_.data(), size_) : group(many_); }

  /// Removes a rank, whose place the last one takes. Returns false if the group does not contain it.
  bool remove(rank_t rank) noexcept {
    bool const is_few = size_ <= few_.size();
    rank_t* const first = is_few ? few_.data() : many_.data();
    std::size_t at = 0;
    while (at < size_ && first[at] != rank) ++at;
    if (at == size_) return false;
    first[at] = first[--size_];  // a loop that moves all behind it would be a call of memmove
    if (!is_few) [[unlikely]]
      remove_last();
    return true;
  }

 private:
  [[gnu::noinline]] void take_many(group given) { many_.assign(given.begin(), given.end()); }
  [[gnu::noinline]] void remove_last() noexcept {
    many_.pop_back();
    if (size_ == few_.size()) std::copy(many_.begin(), many_.end(), few_.begin());
  }

  std::size_t size_;
  std::array<rank_t, 8> few_;  ///< all, if there are at most eight
  std::vector<rank_t> many_;   ///< else all
};

/// Refuses a group that names a rank twice.
template <class State>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_twice(State const& s, rank_t twice, called operation) {
  throw_error_at(errc::invalid_argument, s.job_rank(), operation, {"rank ", twice, " is in the group twice"});
}

/// Checks a large group.
template <class State>
[[gnu::noinline]] void check_many(State const& s, group given, called operation) {
  for (rank_t rank : given) s.check_rank(rank, operation);
  if constexpr (assertions >= assertion_level::light) {
    std::vector<bool> named(static_cast<std::size_t>(s.ranks()));
    for (rank_t rank : given) {
      if (named[static_cast<std::size_t>(rank)]) refuse_twice(s, rank, operation);
      named[static_cast<std::size_t>(rank)] = true;
    }
  }
}

/// Checks a group once, when its epoch opens, so that a wrong rank is an error and not a hang. Returns the
/// epoch's copy.
template <class State>
[[gnu::always_inline]] inline small_group checked_group(State const& s, group given, called operation) {
  // One loop rather than three, so that the check takes few lines of the instruction cache.
  if (given.size() <= 8) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      s.check_rank(given[i], operation);
      if constexpr (assertions >= assertion_level::light) {
        for (std::size_t j = 0; j < i; ++j) {
          if (given[i] == given[j]) refuse_twice(s, given[i], operation);
        }
      }
    }
  } else {
    check_many(s, given, operation);
  }
  return small_group(given);
}

}  // namespace detail

/// An access epoch among neighbours (active target): this rank may access the parts of the ranks that it
/// names.
///
/// Opening is local. The first access to a target, or `to(target)`, waits until that target has exposed its
/// part to this rank. Closing waits for the remaining exposures, and then tells each target that this rank is
/// done. It does not wait for the targets to notice.
/// Throws errc::outside_group when a target is not in the group. Costs a wait for a signal from each target,
/// and a signal to each. MPI_Win_start, MPI_Win_complete.
template <class State, hints Hints = hints{}>
class [[nodiscard("an epoch needs a name: write `pgas::access epoch{window, targets};`")]] access
    : public detail::epoch<access<State, Hints>, State>,
      public State::template accesses_type<access<State, Hints>, Hints> {
  using base = detail::epoch<access, State>;
  friend base;

 public:
  using base::state;
  /// The epoch's name in messages and traces.
  static constexpr std::string_view operation = "access";

  /// Opens the epoch for the ranks of `targets`. Requires no other access epoch of this rank on the window.
  template <class Window, hints... Given>
    requires std::same_as<typename Window::state_type, State>
  [[nodiscard("an epoch needs a name: write `pgas::access epoch{window, targets};`")]] access(
      Window const& w, detail::placed_group targets, hint<Given>...)
      : base(w.shared_state(), targets),
        targets_(detail::checked_group(w.state(), targets, {"start", targets.by()})) {
    State& s = state();
    detail::only_call const call(s, "start");
    s.enter("start", !s.is_accessing(), "an access epoch of this rank on the window is open; close it first");
    boundary b(s.segment);
    s.post.start(targets_, b, exposures);
    s.access_open = true;
  }
  access(access&&) noexcept = default;
  ~access() { this->end(); }

  /// Ends the epoch: MPI's word for close().
  void complete() { this->close(); }
  /// Ends the epoch for one target, which then goes on before the other targets have been met. Where ranks
  /// share cores, this saves a context switch. Waits for that target's exposure. Views that `to(target)` has
  /// returned are no longer valid.
  /// Throws errc::outside_group if the target is not in the group or has been completed. MPI has no equal.
  void complete(rank_t target, detail::caller by = detail::here()) {
    this->check_open({"complete", by});
    State& s = state();
    detail::only_call const call(s, "complete");
    if (!targets_.remove(target)) throw_outside("complete", by, target);
    s.elements.withdraw(target);
    completion_boundary b(s.segment);
    s.post.complete(group(&target, 1), b, exposures);
  }
  /// Puts like put, then ends the epoch for that target like complete(target). The target goes on while this
  /// rank computes or puts to other ranks. close() completes the targets that remain. Waits for the target's
  /// exposure; throws the errors of put and complete. The final flag of NEON (Christgau 2017, section 3.3.5).
  void put_last(rank_t target, std::size_t first, std::span<typename State::value_type const> values,
                detail::caller by = detail::here()) {
    this->check_open({"put_last", by});
    this->put(target, first, values, by);
    complete(target, by);
  }
  void put_last(rank_t target, std::size_t i, typename State::value_type const& value,
                detail::caller by = detail::here()) {
    this->check_open({"put_last", by});
    this->put(target, i, value, by);
    complete(target, by);
  }

  /// Opens `target`'s part as soon as it is exposed to this rank. Call it before a loop of single accesses.
  /// Errors name `What`.
  template <detail::operation_name What = "to">
  [[nodiscard]] target_view<typename State::memory_state, Hints> to(rank_t target,
                                                                    detail::caller by = detail::here()) {
    this->check_open({What.text, by});
    State& s = state();
    s.check_rank(target, {What.text, by});
    check_target({What.text, by}, target);
    boundary b(s.segment);
    s.post.trigger(target, b, exposures);
    return {s, target};
  }

  /// The ranks whose parts may be accessed: the targets that have not been completed.
  [[nodiscard]] group open_to() const noexcept { return targets_; }
  /// Throws errc::outside_group if the epoch is not open to `target`.
  void check_target(detail::called what, rank_t target) const {
    PGAS_EXPECTS(light, in_group(target), throw_outside(what.operation(), what.by(), target));
  }

 private:
  using boundary = typename State::template boundary_type<boundary_of::remote, Hints>;
  using completion_boundary = typename State::template completion_boundary_type<Hints>;
  static constexpr exposure_state exposures =
      Hints.no_check ? exposure_state::known : exposure_state::awaited;

  [[nodiscard]] bool in_group(rank_t target) const noexcept {
    for (rank_t const rank : open_to()) {
      if (rank == target) return true;
    }
    return false;
  }

  [[noreturn]] void throw_outside(char const* what, detail::caller by, rank_t target) const {
    detail::throw_error_at(
        errc::outside_group, state().job_rank(), {what, by},
        {"rank ", target, " is not in the group of this access epoch, or has been completed"});
  }

  void finish() {
    State& s = state();
    s.access_open = false;
    s.elements.withdraw_all();
    completion_boundary b(s.segment);
    s.post.complete(targets_, b, exposures);
  }

  detail::small_group targets_;
};

template <class Window, hints... Given>
access(Window const&, detail::placed_group, hint<Given>...)
    -> access<typename Window::state_type, (hints{} | ... | Given)>;

/// Does not compile: says how an access is opened.
template <class None, hints Hints>
class access<detail::misused<None>, Hints> {
  static_assert(detail::always_false<None>,
                "access: write `pgas::access epoch{window, {1, 2}};` with the ranks whose parts are "
                "accessed, as a list or a span of pgas::rank_t, which is int");

 public:
  /// Accepts any arguments, so that the message above is the only error.
  template <class... Arguments>
  explicit access(Arguments const&...) {}
};
template <class None = void>
access(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {})
    -> access<detail::misused<None>, hints{}>;

}  // namespace PGAS_NAMESPACE
