// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/types/anything.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE {

/// The value of a control word.
using word = std::uint64_t;

/// The read-modify-writes that a backend's cells can do between two ranks.
enum class rmw {
  none,          ///< loads and stores only
  test_and_set,  ///< any, behind a test-and-set register: slow, and a plain store would be lost
  native,        ///< the memory system does them
  mediated,      ///< the owner of the word does them when asked
};

/// The number of control words that each rank of a team contributes; each protocol states its own.
struct control_words {
  std::size_t slots = 0;  ///< words with one writer
  std::size_t cells = 0;  ///< words with many writers

  /// The words of two protocols together.
  friend constexpr control_words operator+(control_words a, control_words b) noexcept {
    return {a.slots + b.slots, a.cells + b.cells};
  }
  friend constexpr bool operator==(control_words, control_words) = default;
};

/// The clock of a backend, and the deadline that never comes.
using time_point = std::chrono::steady_clock::time_point;
/// The deadline that never comes.
inline constexpr time_point no_deadline = time_point::max();

/// The reason of a wait. It is published when the wait becomes long, and every error that ends the wait names
/// it.
struct waiting_for {
  std::string_view operation;         ///< "fence", "complete", ...
  group awaited{};                    ///< the ranks whose signal may end the wait; empty: unknown
  time_point deadline = no_deadline;  ///< after it, errc::timed_out

  /// Of `acquires`: none.
  static constexpr rank_t no_part = -1;
  /// Of `acquires`: a lock_all of a protocol that waits for exclusive locks on any part.
  static constexpr rank_t all_parts = -2;
  /// The part whose lock this wait is a step towards: this rank does not hold it yet. Without awaited ranks,
  /// any rank may be in the way.
  rank_t acquires = no_part;
  /// The lock is exclusive: each rank that holds the part is in the way, beside the awaited ones.
  bool alone = false;
  /// The number of the window's locks. The control sets it.
  std::uint64_t window = 0;
};

namespace detail {

/// A cell has many writers. Behind a test-and-set register a plain store would be a lost update.
struct refuses_store {
  template <class Value>
  static void store(Value, std::memory_order = {}) {
    static_assert(
        always_false<Value>,
        "cell: a word with many writers has no store, since the store could be lost; use exchange, or "
        "reset_unshared(value, order) while no other rank may modify it, or make the word a slot");
  }
};

}  // namespace detail

/// A slot is a control word with one writer, which is named when the word is obtained. It has load and store.
///
/// A slot is alone on its line. Every rank may load it; a store by any rank but its writer is an error.
template <class S>
concept control_slot = std::copyable<S> && requires(S const& s, word value, std::memory_order order) {
  { s.load(order) } -> std::same_as<word>;
  s.store(value, order);
};

/// Such a slot has room for a short message on its own lines, which arrives with the word and costs no other
/// line.
///
/// `room()` is the address of `room_bytes` bytes, aligned to 16, in memory that the hardware keeps coherent.
/// The writer fills them before a store with release order; a rank that has loaded that value with acquire
/// order reads them. The writer fills them again only when all of these ranks have read them.
template <class S>
concept roomy_slot = control_slot<S> && requires(S const& s) {
  { s.room() } -> std::same_as<std::byte*>;
  { S::room_bytes } -> std::convertible_to<std::size_t>;
};

/// A cell is a control word with many writers. It has load and read-modify-write.
///
/// `fetch_add(v, order)`, `fetch_xor(v, order)` and `exchange(v, order)` return the word before.
/// `compare_exchange(expected, v, order)` is that of std::atomic.
/// `reset_unshared(v, order)` may be called only while no other rank may modify the word. Others may load it,
/// and may try a compare_exchange that must fail, since that stores nothing. `store` does not compile: see
/// detail::refuses_store.
template <class C>
concept control_cell =
    std::copyable<C> && requires(C const& c, word value, word& expected, std::memory_order order) {
      { c.load(order) } -> std::same_as<word>;
      { c.fetch_add(value, order) } -> std::same_as<word>;
      { c.fetch_xor(value, order) } -> std::same_as<word>;
      { c.exchange(value, order) } -> std::same_as<word>;
      { c.compare_exchange(expected, value, order) } -> std::same_as<bool>;
      c.reset_unshared(value, order);
    };

/// Between nodes a returned value costs a message back, and many changes do not need it. `add(v, order)` and
/// `flip(v, order)` of such a cell are its fetch_add and fetch_xor without a result. Like a store, they
/// return before the change has taken place. A cell of shared memory has no use for them.
template <class C>
concept one_way_cell = control_cell<C> && requires(C const& c, word value, std::memory_order order) {
  c.add(value, order);
  c.flip(value, order);
};

/// A release of this rank waits until its earlier changes of far words are confirmed, see `control`.
/// `unconfirmed()` returns the same word for a change for which later releases do not wait, because only the
/// word's owner reads it. Such a change is itself ordered behind all earlier ones.
template <class W>
concept confirmed_word = std::copyable<W> && requires(W const& w) {
  { w.unconfirmed() } -> std::same_as<W>;
};

/// A change of such a cell wakes the ranks that sleep on it. `without_waking()` returns the same cell, whose
/// changes wake nobody. It is for changes that make no waiting rank's predicate true: for example, taking a
/// lock, since ranks wait for its release.
///
/// A caller may also change the word without waking, ask `is_slept_on()`, and call `wake_sleepers()` if that
/// is true. Then all rare work is in one call, around which the common case saves no registers.
template <class C>
concept waking_cell = control_cell<C> && requires(C const& c) {
  { c.without_waking() } -> control_cell;
  { c.is_slept_on() } -> std::same_as<bool>;
  c.wake_sleepers();
};

namespace detail {

/// A cell for a change that ends no wait: see waking_cell.
template <control_cell C>
[[nodiscard]] auto without_waking(C const& cell) {
  if constexpr (waking_cell<C>) {
    return cell.without_waking();
  } else {
    return cell;
  }
}

/// A word that only its owner reads, for a change for which later releases do not wait: see confirmed_word.
template <class Word>
Word unconfirmed(Word const& w) {
  if constexpr (confirmed_word<Word>) {
    return w.unconfirmed();
  } else {
    return w;
  }
}

/// Adds to a cell without a result.
template <control_cell C>
[[gnu::always_inline]] inline void add(C const& cell, word value, std::memory_order order) {
  if constexpr (one_way_cell<C>) {
    cell.add(value, order);
  } else {
    cell.fetch_add(value, order);
  }
}
/// Flips bits of a cell without a result.
template <control_cell C>
[[gnu::always_inline]] inline void flip(C const& cell, word value, std::memory_order order) {
  if constexpr (one_way_cell<C>) {
    cell.flip(value, order);
  } else {
    cell.fetch_xor(value, order);
  }
}

}  // namespace detail

/// Such a cell makes any change in one read-modify-write, and returns the value before. Behind a register
/// every change takes equally long, and a failing compare_exchange costs as much as any other change.
template <class C>
concept changing_cell =
    control_cell<C> && requires(C const& c, word (*change)(word), std::memory_order order) {
      { c.update(change, order) } -> std::same_as<word>;
    };

/// A control is the memory of one team or window for words that synchronize, apart from payload.
///
/// A backend makes control words agree between ranks by itself; no coherence policy ever touches them. Words
/// are zero at first. `slot(owner, i, writer)` and `cell(owner, i)` name word i of rank `owner`'s share. A
/// word lies in its owner's memory, so a protocol can let every rank wait for its own words.
///
/// Orders are those of C++, between words of all ranks: a rank that acquires what this rank released finds
/// each earlier change of a word by this rank, near or far. A backend whose changes of far words take time
/// waits for their arrival before it makes a release visible to a nearer rank. Payload is not among these
/// changes; see boundary. Nor are changes by way of `unconfirmed()`.
///
/// `size()` is the number of ranks. `read_modify_write` says what cells can do, and `can_park` whether a
/// waiting rank may sleep.
///
/// `wait_until(w, predicate, why)` returns the first value of w that satisfies the predicate, loaded with
/// acquire order. `wait_any(words, predicate, why)` returns the index of the first word of a span that
/// satisfies it. Both throw `error` when the job has failed, when `why.deadline` passes, or when the ranks
/// wait for each other. Both make progress on polled backends. Protocols write no loop of their own.
///
/// `pause(attempt, why)` is for a protocol that tries again after other ranks were in its way. It lets them
/// go on for a random while of at most about 2^attempt looks, bounded. Ranks that turned each other away thus
/// do not meet again in step. `pause` ends by itself, and throws when the job has failed. A rank that
/// waits for a value calls wait_until instead.
template <class C>
concept control =
    std::movable<C> && requires(C& c, C const& cc, rank_t rank, std::size_t i, waiting_for const& why,
                                bool (*predicate)(word), std::span<decltype(c.slot(rank, i, rank))> words) {
      { cc.rank() } noexcept -> std::same_as<rank_t>;
      { cc.size() } noexcept -> std::same_as<rank_t>;
      { c.slot(rank, i, rank) } -> control_slot;
      { c.cell(rank, i) } -> control_cell;
      { c.wait_until(c.slot(rank, i, rank), predicate, why) } -> std::same_as<word>;
      { c.wait_until(c.cell(rank, i), predicate, why) } -> std::same_as<word>;
      { c.wait_any(words, predicate, why) } -> std::same_as<std::size_t>;
      c.pause(unsigned{}, why);
      { C::read_modify_write } -> std::convertible_to<rmw>;
      { C::can_park } -> std::convertible_to<bool>;
    };

/// The ranks of such a control are on several nodes, and words of this rank's node are cheaper to reach.
///
/// `near_count()` is the number of ranks on this node, and `near_rank(i)` rank i of them, ascending.
/// `leaders()` has the first rank of each node, the same on all ranks.
template <class C>
concept control_of_nodes = control<C> && requires(C const& c, rank_t i) {
  { c.near_count() } -> std::same_as<rank_t>;
  { c.near_rank(i) } -> std::same_as<rank_t>;
  { c.leaders() } -> std::convertible_to<group>;
};

/// The ranks of such a control share a machine's cores. `most_at_once()` is the number of ranks that can run
/// at the same time, at most `size()`, the same on all ranks. If it is less, each wait may cost a switch
/// between ranks, and few of them meet at one word.
template <class C>
concept control_of_cores = control<C> && requires(C const& c) {
  { c.most_at_once() } noexcept -> std::same_as<rank_t>;
};

namespace detail {

/// The number of ranks that can run at the same time, as far as a control knows.
template <control Control>
constexpr rank_t most_at_once(Control const& c) noexcept {
  if constexpr (control_of_cores<Control>) {
    return c.most_at_once();
  } else {
    return c.size();
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
