// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <limits>
#include <memory>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/coherence_policy.hpp>
#include <pgas/concepts/part_is.hpp>
#include <pgas/detail/elements/bulk_accumulate_lock.hpp>
#include <pgas/detail/elements/element_lock.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/job/job_wide_number.hpp>
#include <pgas/detail/mail/mail_office.hpp>
#include <pgas/detail/team/open_epochs.hpp>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/local_shared_ptr.hpp>
#include <pgas/detail/window/window_boundary.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

template <class Epoch, class State, hints Hints>
class accesses;

/// One rank's state of one window. Epochs share it, so that the window may move while one is open.
///
/// A state that knows more, as an array knows its shape, derives from it and names the accesses of its
/// epochs.
template <class T, class Backend, class Coherence, class Protocols, class Segment>
struct window_state : use_count, lock_holder {
  using value_type = T;
  using backend_type = Backend;
  using coherence_type = Coherence;
  using segment_type = Segment;
  /// One of the protocols is mailed.
  static constexpr bool is_mailed = has_mailed<Protocols>;
  using control_type = typename carrying_control<Backend, is_mailed>::type;
  /// The state on which target views work: this one, also if another state derives from it.
  using memory_state = window_state;
  /// The put, get and accumulate of an epoch on it.
  template <class Epoch, hints Hints>
  using accesses_type = accesses<Epoch, window_state, Hints>;
  template <boundary_of Side, hints Hints>
  using boundary_type = window_boundary<segment_type, Coherence, Side, Hints>;
  /// The boundary of a signal that changes a control word of each target, and tells the target of its own
  /// part.
  template <boundary_of Side, hints Hints>
  using signal_boundary_type =
      window_boundary<segment_type, Coherence, Side, Hints, signal_tells::of_own_parts>;
  using post_protocol_type = typename Protocols::post;
  /// The boundary of an access epoch that protocol `Post` ends, which may be that of another window.
  template <hints Hints, class Post = post_protocol_type>
  using completion_boundary_type =
      std::conditional_t<direct_post_protocol<Post>, signal_boundary_type<boundary_of::remote, Hints>,
                         boundary_type<boundary_of::remote, Hints>>;

  /// How this rank reaches the parts of all ranks.
  static constexpr part_is parts = parts_of<segment_type>;
  /// Each target's elements are a plain array of this process, and a put of one element is a store.
  static constexpr bool is_direct = parts == part_is::near;

  static constexpr control_words fence_words(rank_t ranks) { return Protocols::fence::words(ranks); }
  static constexpr control_words post_words(rank_t ranks) {
    return fence_words(ranks) + Protocols::post::words(ranks);
  }
  static constexpr control_words lock_words(rank_t ranks) {
    return post_words(ranks) + Protocols::lock::words(ranks);
  }
  using lock_protocol = typename Protocols::lock;
  /// One instruction can modify an element of a near part.
  static constexpr bool has_native_elements =
      parts != part_is::far && atomic_segment<segment_type, T, op::replace>;
  using element_lock_type = element_lock_on<control_type>;
  using element_modes_type =
      std::conditional_t<has_native_elements, bulk_accumulate_lock<control_type>, no_element_modes>;
  /// The words of all protocols, and of the guard of elements.
  static constexpr control_words words(rank_t ranks) {
    return lock_words(ranks) +
           (has_native_elements ? bulk_accumulate_lock<control_type>::words() : element_lock_type::words());
  }

  window_state(std::shared_ptr<team_state<Backend>> t, segment_type s, control_type c, std::string l)
      : team(std::move(t)),
        segment(std::move(s)),
        control(std::move(c)),
        label(std::move(l)),
        fence(control, {}),
        post(control, fence_words(control.size())),
        lock(control, post_words(control.size())),
        elements(control, lock_words(control.size())),
        size(segment.part_bytes(segment.rank()) / sizeof(T)),
        number(number_of_pair(team->number, team->windows)),
        access_open(segment.size()),
        deferred(team->deferred.get()) {
    if constexpr (access_checked_segment<segment_type>) segment.describe(label, sizeof(T));
    if constexpr (tells_locks) {
      control.number_locks(number);
      control.locks().add(*this);
    }
  }
  window_state(window_state const&) = delete;
  window_state& operator=(window_state const&) = delete;
  ~window_state() override {
    if constexpr (tells_locks) control.locks().remove(*this);
  }

  [[nodiscard]] rank_t rank() const noexcept { return segment.rank(); }
  [[nodiscard]] rank_t ranks() const noexcept { return segment.size(); }
  /// This rank's number in the job, for errors.
  [[nodiscard]] rank_t job_rank() const { return team->backend.world_rank(rank()); }
  /// The elements of a rank's part if they are a plain array of this process, else null.
  [[nodiscard]] T* part_if_near(rank_t target) {
    if constexpr (parts == part_is::near) {
      return reinterpret_cast<T*>(segment.part(target));
    } else if constexpr (parts == part_is::near_or_far) {
      return reinterpret_cast<T*>(segment.part_if_near(target));
    } else {
      return nullptr;
    }
  }
  /// This rank's own elements if its loads find them in plain memory, else null.
  [[nodiscard]] T* own_elements() noexcept {
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      return reinterpret_cast<T*>(segment.local().data());
    } else {
      return nullptr;
    }
  }
  /// The number of elements of a rank's part.
  [[nodiscard]] std::size_t part_size(rank_t target) const { return segment.part_bytes(target) / sizeof(T); }

  void check_rank(rank_t target, called operation) const {
    // One compare: as unsigned numbers, negative ranks are larger than any other.
    PGAS_EXPECTS(light, static_cast<std::uint32_t>(target) < static_cast<std::uint32_t>(ranks()),
                 refuse_rank(target, operation.operation(), operation.by()));
  }
  // Not inlined, so that a check stays short, and a loop keeps the operands of the check in registers.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_rank(rank_t target, char const* operation,
                                                          caller by) const {
    throw_bad_rank(job_rank(), {operation, by}, target, ranks());
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_elements(char const* operation, caller by, rank_t target,
                                                              std::size_t first, std::size_t count) const {
    throw_out_of_range(job_rank(), {operation, by}, target, first, count, part_size(target));
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse_rows(char const* operation, caller by, rank_t target,
                                                          rows_of const& block) const {
    if (is_negative(block.pitch)) {
      throw_error_at(errc::out_of_range, job_rank(), {operation, by},
                     {"a pitch or stride of ", as_given(block.pitch),
                      " elements descends; begin with the lowest row or element, and give a distance of 1 or "
                      "more"});
    }
    if (is_negative(block.rows) || is_negative(block.cols)) {
      throw_error_at(errc::out_of_range, job_rank(), {operation, by},
                     {"a block of ", as_given(block.rows), " rows of ", as_given(block.cols),
                      " elements; a number of rows or elements is not negative"});
    }
    refuse_elements(operation, by, target, block.first, block.reach());
  }

  /// Returns whether an epoch of any kind is open in which this rank accesses parts.
  [[nodiscard]] bool is_accessing() const noexcept { return access_open.any(); }

  /// Every call that opens an epoch begins with this. Throws an error that a destructor kept.
  void enter(std::string_view operation, bool free, char const* otherwise) {
    deferred->rethrow();
    PGAS_EXPECTS(light, free, throw_error(errc::wrong_order, job_rank(), operation, otherwise));
  }

  /// Tells every rank that this one left `operation` by an exception, so that no rank waits for it.
  [[gnu::noinline]] void abandon(std::string_view operation) noexcept {
    team->backend.fail(text_of(
        {"rank ", team->backend.world_rank(rank()), " left ", operation, " (", label, ") by an exception"}));
    if constexpr (abandoned_segment<segment_type>) segment.abandon();
  }

  /// Adds the locks that this rank holds: those that are open, but not the one that it waits for.
  void add_held(waiting_for const& why, plain_list<lock_key>& to) const override {
    rank_t const awaited = why.window == number ? why.acquires : waiting_for::no_part;
    access_open.for_each_lock([&](rank_t part) {
      rank_t const in_job = team->backend.world_rank(part);
      if (in_job != awaited && lock_is_taken(lock, part)) to.push_back(key_of_lock(number, in_job));
    });
    if (holds_exclusively(lock)) to.push_back(key_of_lock(number, waiting_for::all_parts));
    bool const opens = awaited != waiting_for::no_part && why.operation == "lock_all";
    if (access_open.is_lock_all() || opens) add_held_by_lock_all(awaited, to);
  }

  std::shared_ptr<team_state<Backend>> team;
  segment_type segment;
  control_type control;
  std::string label;
  typename Protocols::fence::template on<control_type> fence;
  typename Protocols::post::template on<control_type> post;
  typename Protocols::lock::template on<control_type> lock;
  [[no_unique_address]] element_modes_type elements;  ///< modifies single elements of each part
  std::size_t size;                                   ///< of the own part, in elements
  std::uint64_t number;                               ///< of its locks, the same on every rank of the job
  open_epochs access_open;                            ///< the open epochs in which this rank accesses parts
  bool exposure_open = false;                         ///< an exposure or a fence epoch is open
  deferred_error* deferred;                           ///< that of the team, one load nearer

 private:
  /// This rank's waits report the locks that it holds.
  static constexpr bool tells_locks = requires(control_type& c, lock_holder& self) { c.locks().add(self); };

  // What a protocol may tell about a lock that is open.
  template <class Lock>
  static constexpr bool waits_announced = requires { requires Lock::waits_announced; };
  template <class Lock>
  static bool lock_is_taken(Lock const& l, rank_t part) noexcept {
    if constexpr (requires { l.is_taken(part); }) {
      return l.is_taken(part);
    } else {
      return true;
    }
  }
  template <class Lock>
  static bool holds_exclusively(Lock const& l) noexcept {
    if constexpr (requires { l.holds_exclusively(); }) {
      return l.holds_exclusively();
    } else {
      return false;
    }
  }
  template <class Lock>
  static bool holds_whole_window(Lock const& l) noexcept {
    if constexpr (requires { l.holds_all(); }) {
      return l.holds_all();
    } else {
      return false;
    }
  }

  /// Adds what an open lock_all holds that waits for part `awaited`. Protocols then lock the parts in the
  /// order of ranks, unless they say which ones they have.
  void add_held_by_lock_all(rank_t awaited, plain_list<lock_key>& to) const {
    using lock_type = typename Protocols::lock::template on<control_type>;
    if (holds_whole_window(lock)) return to.push_back(key_of_lock(number, whole_window));
    if constexpr (requires { lock.has_in_all(rank_t{}); }) {
      for (rank_t part = 0; part < ranks(); ++part) {
        if (lock.has_in_all(part)) to.push_back(key_of_lock(number, team->backend.world_rank(part)));
      }
    } else if (awaited == waiting_for::all_parts ? waits_announced<lock_type> : access_open.is_lock_all()) {
      to.push_back(key_of_lock(number, whole_window));
    } else {
      for (rank_t part = 0; awaited >= 0 && team->backend.world_rank(part) != awaited; ++part)
        to.push_back(key_of_lock(number, team->backend.world_rank(part)));
    }
  }
};

}  // namespace PGAS_NAMESPACE::detail
