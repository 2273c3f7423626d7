// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <pgas/concepts/boundary.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

namespace detail {

/// The least that a control is. Protocols are checked against it in their own headers.
struct control_archetype {
  struct slot_type {
    [[nodiscard]] word load(std::memory_order) const { return 0; }
    void store(word, std::memory_order) const {}
  };
  struct cell_type : refuses_store {
    [[nodiscard]] word load(std::memory_order) const { return 0; }
    word fetch_add(word, std::memory_order) const { return 0; }
    word fetch_xor(word, std::memory_order) const { return 0; }
    word exchange(word, std::memory_order) const { return 0; }
    bool compare_exchange(word&, word, std::memory_order) const { return true; }
    void reset_unshared(word, std::memory_order) const {}
  };
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = false;

  [[nodiscard]] rank_t rank() const noexcept { return 0; }
  [[nodiscard]] rank_t size() const noexcept { return 1; }
  slot_type slot(rank_t, std::size_t, rank_t) { return {}; }
  cell_type cell(rank_t, std::size_t) { return {}; }
  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word, Predicate&&, waiting_for const&) {
    return 0;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word>, Predicate&&, waiting_for const&) {
    return 0;
  }
  void pause(unsigned, waiting_for const&) {}
};
static_assert(control<control_archetype>);

/// The least that a control with a post office is.
struct mailing_archetype : control_archetype {
  struct office_type {
    std::size_t open(message_receiver) { return 0; }
    void close(std::size_t) {}
    bool try_send(rank_t, std::size_t, word) { return true; }
    void send_later(rank_t, std::size_t, word) {}
    void poll() {}
    bool expect(rank_t, int) { return false; }
    void will_send(rank_t) {}
  };
  office_type& office() noexcept { return office_; }

 private:
  office_type office_;
};
static_assert(mailing_control<mailing_archetype>);

/// The reader of a protocol's signals: the memory system unless the protocol says otherwise.
template <class Protocol>
constexpr progress progress_of() noexcept {
  if constexpr (requires { Protocol::progress_by; }) {
    return Protocol::progress_by;
  } else {
    return progress::hardware;
  }
}

/// The name of a protocol with a word before it, for a protocol that wraps another.
template <class Protocol, std::size_t Size>
constexpr auto name_after(char const (&before)[Size]) {
  std::array<char, Size - 1 + Protocol::name.size()> all{};
  std::copy(Protocol::name.begin(), Protocol::name.end(), std::copy(before, before + Size - 1, all.begin()));
  return all;
}

}  // namespace detail

/// True of a mailed protocol: its signals are messages, and a rank reads them when it waits.
template <class P>
inline constexpr bool is_mailed = detail::progress_of<P>() == progress::polled;

namespace detail {

/// The control against which a protocol is checked.
template <class Protocol>
using archetype_for = std::conditional_t<is_mailed<Protocol>, mailing_archetype, control_archetype>;

}  // namespace detail

/// A synchronization protocol says *when*: one header in sync/, chosen as a type.
///
/// `on<Control>` is one rank's private state on one window, constructed from the control and
/// the indices of its first slot and cell there. `name` is the protocol's name in messages and options.
/// `words(n)` are the control words that each of n ranks contributes. `needs` is the weakest
/// read-modify-write that suffices. Optional: `progress_by`, progress::polled in a mailed protocol, whose
/// `on<Control>` takes a mailing_control. A mailed protocol's signal is read when its receiver next waits in
/// a call of the library, whatever that call is. A rank that computes delays the ranks that need its answer.
template <class P>
concept protocol = requires(rank_t ranks) {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::words(ranks) } -> std::same_as<control_words>;
  { P::needs } -> std::convertible_to<rmw>;
  typename P::template on<detail::archetype_for<P>>;
  requires std::constructible_from<typename P::template on<detail::archetype_for<P>>,
                                   detail::archetype_for<P>&, control_words>;
};

/// A fence protocol closes one collective epoch and opens the next. MPI_Win_fence.
///
/// `fence` is publish(everyone), arrive, wait for all, refresh(everyone).
template <class P>
concept fence_protocol =
    protocol<P> && requires(typename P::template on<detail::archetype_for<P>>& p, no_boundary& b,
                            std::string_view operation) { p.fence(b, operation); };

/// An origin's knowledge of its targets' exposures.
enum class exposure_state {
  awaited,  ///< unknown: the protocol waits for each
  known,    ///< the program says that all are open (MPI_MODE_NOCHECK): the protocol need not wait
};

/// A post protocol synchronizes named groups of origins and targets: general active target. MPI_Win_post,
/// MPI_Win_start, MPI_Win_complete, MPI_Win_wait and MPI_Win_test.
///
/// `start` names the targets, and does not block unless the protocol is `immediate`. `trigger(t, b, state)`
/// blocks until t has posted for this rank, then refreshes it, at most once an epoch. `complete` waits for
/// those of its targets not yet triggered, publishes to all of them and signals them. It may be called for
/// some of the epoch's targets, and later for others, but once for each. With `exposure_state::known` none of
/// the three need wait; all calls of an epoch are given the same state. `post` publishes, then signals the
/// origins. `wait` blocks until all of them have completed, then refreshes. `test` is wait without blocking:
/// it returns true once, when wait would not block. A group names a rank once.
template <class P>
concept post_protocol =
    protocol<P> && requires(typename P::template on<detail::archetype_for<P>>& p, no_boundary& b, group g,
                            rank_t target, exposure_state state) {
      p.post(g, b);
      p.wait(g, b);
      { p.test(g, b) } -> std::same_as<bool>;
      p.start(g, b, state);
      p.trigger(target, b, state);
      p.complete(g, b, state);
    };

/// With such a post protocol, `complete` signals a target by a change of one of that target's own control
/// words, after publish and by no other rank's help. Payload that arrives in order with that change needs no
/// flush.
///
/// `completes_at_target` says so. A message of a mailbox is no such change.
template <class P>
concept direct_post_protocol = post_protocol<P> && P::completes_at_target && !is_mailed<P>;

/// A lock protocol lets this rank access other ranks, which take no part: passive target. MPI_Win_lock_all.
///
/// `lock_all` opens the epoch, and refreshes what it has locked. `unlock_all` publishes, then ends the epoch.
/// The epoch calls `trigger(t, b)` before its first access to t, and may call it again. A protocol that locks
/// part by part takes the lock of t then. A part is refreshed after it is locked.
template <class P>
concept lock_protocol = protocol<P> && requires(typename P::template on<detail::archetype_for<P>>& p,
                                                no_boundary& b, rank_t target) {
  p.lock_all(b);
  p.trigger(target, b);
  p.unlock_all(b);
};

/// In a whole lock protocol lock_all may hold every part from the start. `holds_all` says whether it does.
/// The answer stays the same from lock_all to unlock_all. While it is true, `trigger` does nothing.
template <class P>
concept whole_lock_protocol =
    lock_protocol<P> && requires(typename P::template on<detail::archetype_for<P>> const& p) {
      { p.holds_all() } noexcept -> std::same_as<bool>;
    };

/// A shared lock may have several holders, an exclusive lock has one.
enum class lock_kind {
  shared,     ///< other shared locks may be held on the part. MPI_LOCK_SHARED
  exclusive,  ///< no other lock is held on the part. MPI_LOCK_EXCLUSIVE
};

/// A target lock protocol also locks single parts. MPI_Win_lock. An exclusive holder excludes all other
/// holders of the part, those of lock_all too.
///
/// `lock` returns when this rank holds the part, refreshed; for an exception see deferred_lock_protocol.
/// `try_lock` returns false if it would have to wait, and has then changed nothing. With a mailed protocol it
/// may also return false for a free part: a release is a message, and a later try of another rank may
/// overtake it, even if a fence came between. `unlock` publishes, then releases the lock.
///
/// A wait in `lock`, `try_lock` or `lock_all` names the part in `waiting_for::acquires`, and says by `alone`
/// whether the lock is exclusive. A search for deadlocks asks the epochs of ranks that wait which locks they
/// hold. A protocol that holds other locks than the open epochs say tells it, optionally: `is_taken(t)` is
/// false for a lock that is open but not held; `has_in_all(t)` says whether lock_all holds a part;
/// `holds_exclusively()` whether this rank has a lock that a lock_all of all parts at once waits for; and
/// `waits_announced` is true if such a lock_all excludes exclusive locks while it waits.
template <class P>
concept target_lock_protocol =
    lock_protocol<P> && requires(typename P::template on<detail::archetype_for<P>>& p, no_boundary& b,
                                 rank_t target, lock_kind kind) {
      p.lock(target, kind, b);
      { p.try_lock(target, kind, b) } -> std::same_as<bool>;
      p.unlock(target, kind, b);
    };

/// Here `lock` on another rank's part may leave everything to `first_access(t, b)`. The epoch calls that
/// before its first access, and may call it again. It returns when this rank holds the part, refreshed.
/// Without any access `unlock` has nothing to do.
template <class P>
concept deferred_lock_protocol =
    target_lock_protocol<P> && requires(typename P::template on<detail::archetype_for<P>>& p, no_boundary& b,
                                        rank_t target) { p.first_access(target, b); };

/// The protocols of one window are one of each kind. A window allocates the words of its bundle only.
template <fence_protocol Fence, post_protocol Post, lock_protocol Lock>
struct protocols {
  using fence = Fence;  ///< the fence protocol
  using post = Post;    ///< the protocol of access and exposure epochs
  using lock = Lock;    ///< the protocol of lock and lock_all epochs
};

/// A model of `protocols`.
template <class P>
concept protocol_bundle =
    fence_protocol<typename P::fence> && post_protocol<typename P::post> && lock_protocol<typename P::lock>;

/// Returns whether words with capability `has` can carry a protocol that needs `needs`.
constexpr bool can_carry(rmw has, rmw needs) noexcept { return needs == rmw::none || has != rmw::none; }

/// True if the words of `Control` can carry every protocol of a bundle; a window checks it.
template <protocol_bundle P, control Control>
inline constexpr bool bundle_fits = can_carry(Control::read_modify_write, P::fence::needs) &&
                                    can_carry(Control::read_modify_write, P::post::needs) &&
                                    can_carry(Control::read_modify_write, P::lock::needs);

/// True if a protocol of a bundle is mailed: its windows need a backend with mailboxes.
template <protocol_bundle P>
inline constexpr bool has_mailed =
    is_mailed<typename P::fence> || is_mailed<typename P::post> || is_mailed<typename P::lock>;

}  // namespace PGAS_NAMESPACE
