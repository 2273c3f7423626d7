// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS {

/// What a control word holds.
using word = std::uint64_t;

/// Which read-modify-writes a backend's cells can do between two ranks.
enum class rmw {
  none,          ///< loads and stores only
  test_and_set,  ///< behind a test-and-set register: any, but slowly, and a plain store would be lost
  native,        ///< the memory system does them
  mediated,      ///< the owner of the word does them when asked
};

/// How many control words each rank of a team contributes; protocols state theirs in this form.
struct control_words {
  std::size_t slots = 0;
  std::size_t cells = 0;

  friend constexpr control_words operator+(control_words a, control_words b) noexcept {
    return {a.slots + b.slots, a.cells + b.cells};
  }
  friend constexpr bool operator==(control_words, control_words) = default;
};

/// The clock of a backend, and the deadline that never comes.
using time_point = std::chrono::steady_clock::time_point;
inline constexpr time_point no_deadline = time_point::max();

/// Why a rank waits: published when the wait becomes long, and named in every error it ends with.
struct waiting_for {
  std::string_view operation;         ///< "fence", "complete", ...
  group awaited{};                    ///< those whose signal may end the wait; empty: unknown
  time_point deadline = no_deadline;  ///< after it, errc::timed_out
};

namespace detail {

template <class...>
inline constexpr bool always_false = false;

/// A cell has many writers: behind a test-and-set register a plain store would be a lost update.
struct refuses_store {
  template <class Value>
  static void store(Value, std::memory_order = {}) {
    static_assert(always_false<Value>,
                  "cell: a word with many writers cannot be stored to, the store could be lost; use exchange, or "
                  "reset_unshared(value, order) where nobody else may modify it now, or make the word a slot");
  }
};

}  // namespace detail

/// A control word with one writer, named when the word was obtained: load and store.
///
/// It stands alone on its line. Everybody may load it; a store by anyone but its writer is an error.
template <class S>
concept control_slot = std::copyable<S> && requires(S const& s, word value, std::memory_order order) {
  { s.load(order) } -> std::same_as<word>;
  s.store(value, order);
};

/// A control word with many writers: load and read-modify-write.
///
/// `reset_unshared(v, order)` may be called only while nobody else may modify the word; others may load it, and may try
/// a compare_exchange that must fail: one that fails stores nothing. `store` does not compile: see
/// detail::refuses_store.
template <class C>
concept control_cell = std::copyable<C> && requires(C const& c, word value, word& expected, std::memory_order order) {
  { c.load(order) } -> std::same_as<word>;
  { c.fetch_add(value, order) } -> std::same_as<word>;
  { c.fetch_xor(value, order) } -> std::same_as<word>;
  { c.exchange(value, order) } -> std::same_as<word>;
  { c.compare_exchange(expected, value, order) } -> std::same_as<bool>;
  c.reset_unshared(value, order);
};

/// A cell that makes any change in one read-modify-write, and says what it was: behind a register all take the same,
/// and a compare_exchange in vain is as dear as any.
template <class C>
concept changing_cell = control_cell<C> && requires(C const& c, word (*change)(word), std::memory_order order) {
  { c.update(change, order) } -> std::same_as<word>;
};

/// The control memory of one team or window: words that synchronize, apart from payload.
///
/// A backend makes these agree between ranks by itself; no coherence policy ever touches them.
/// Words are zero at first. `slot(owner, i, writer)` and `cell(owner, i)` name word i of rank
/// `owner`'s share; a word lies in its owner's memory, so protocols let every rank wait on its own.
///
/// `wait_until(w, predicate, why)` returns the first value of w that satisfies the predicate, loaded
/// with acquire order; `wait_any(words, predicate, why)` returns the index of the first word of a span that
/// does. Both throw `error` when the job has failed, when `why.deadline` passes, or when the ranks
/// wait for each other; both make progress on polled backends. Protocols write no loop of their own.
///
/// `pause(attempt, why)` is for protocols that try again after others were in the way: it lets them go on for a random
/// while of at most about 2^attempt looks, bounded, so that ranks that turned each other away do not meet again in
/// step. It ends by itself, and throws when the job has failed. Waiting for something is wait_until's.
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

}  // namespace pgas::inline PGAS_ASSERTIONS
