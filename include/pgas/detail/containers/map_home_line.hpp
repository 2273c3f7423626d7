// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/containers/map_policy.hpp>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/detail/containers/map_table.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// Whether two keys are equal exactly if their words are.
template <class Key, class Equal>
inline constexpr bool equal_as_words =
    (std::is_integral_v<Key> || std::is_enum_v<Key>)&&words_for<Key> == 1 &&
    (std::is_same_v<Equal, std::equal_to<Key>> || std::is_same_v<Equal, std::equal_to<>>);

/// Whether a map has a short way for its present keys: each bucket is one line.
template <class Key, class Value, class Equal>
inline constexpr bool has_home_line =
    bucket_layout<Key, Value>::words == bucket_layout<Key, Value>::line_words && equal_as_words<Key, Equal>;

/// The short path of operations on a home bucket that is one line of near memory. It takes the protocol's
/// steps in the usual case, see map_chain: a present key, or a free slot for a new one. Each member returns
/// false in any other case, or if the bucket changes meanwhile. It has then changed nothing, and map_chain
/// does the whole operation.
///
/// Source    None. Each key of the line has a branch, so the processor can predict the slot and begin later
///           calls before the line arrives. The short path has no call and no store of its own.
/// Costs     a miss. An addition takes about 40 instructions with the hash, one of them locked; so does an
///           insertion or a new value, which also take the lock.
template <class Words, transportable Key, transportable Value, map_policy Policy>
class map_home_line {
  using layout = bucket_layout<Key, Value>;
  static constexpr bool keeps = Policy.slots == erased_slots::kept;
  static_assert(bucket_state::slots == 3 && layout::words == layout::line_words);

 public:
  map_home_line(Words const& words, std::size_t home) noexcept
      : words_(words), first_(map_shape::first + home * layout::words) {}

  /// Also returns true, without a value, if the key is absent from a chain of one bucket.
  [[nodiscard]] bool lookup(Key const& key, std::optional<Value>& value) const {
    for (std::size_t bucket = first_;;) {
      // acquire: pairs with the release of the change that stored the state.
      bucket_state const state(words_.load(bucket));
      if (!keeps && state.is_locked()) return false;
      std::size_t const at = value_of(bucket, key, state);
      if (at != 0) [[likely]] {
        std::uint64_t const word = words_.load(at);
        if (has_changed(bucket, state)) return false;
        value.emplace(from_words<Value>(&word));
        return true;
      }
      std::size_t const next = words_.load(bucket + layout::next);
      if (next == map_shape::deeper) return false;
      if (next == 0) return bucket == first_ && !state.is_locked() && !has_changed(bucket, state);
      bucket = next;
    }
  }
  /// Inserts a key if its chain is one bucket with a free slot. Returns whether the key was absent, or
  /// nothing if map_chain does the whole.
  [[nodiscard]] std::optional<bool> insert(Key const& key, unsigned tag, Value const& value) const {
    bucket_state const state(words_.load(first_));
    if (state.is_locked()) return std::nullopt;
    if (value_of(first_, key, state) != 0) {
      // The key was present when the state was loaded, unless another key has taken its slot since.
      return has_changed(first_, state) ? std::nullopt : std::optional(false);
    }
    if (keeps && is_kept(key, state)) return std::nullopt;
    std::size_t const slot = free_slot(state);
    if (slot == bucket_state::slots) return std::nullopt;
    // The lock is taken only in the state that was seen, so the keys are those that were seen. acq_rel: pairs
    // with the release of the rank that had the lock before.
    if (!words_.replace(first_, state.bits(), state.locked().bits())) return std::nullopt;
    // A new link changes no state, so the link is checked under the lock.
    if (words_.load(first_ + layout::next) != 0) {
      words_.store(first_, state.bits());
      return std::nullopt;
    }
    words_.store(first_ + layout::key(slot), to_words(key)[0]);
    words_.store(first_ + layout::value(slot), to_words(value)[0]);
    unlock(state.with(slot, tag));
    return true;
  }
  /// Gives a key that is present another value.
  [[nodiscard]] bool assign(Key const& key, Value const& value) const {
    return change(key, [&](std::size_t at) { words_.store(at, to_words(value)[0]); });
  }
  /// Combines the value of a key that is present.
  template <class Op>
  [[nodiscard]] bool accumulate(Key const& key, Value const& value, Op op) const {
    return change(key, [&](std::size_t at) {
      if constexpr (keeps) {
        detail::combine(words_, at, value, op);
      } else {
        std::uint64_t const old = words_.load(at);
        words_.store(at, to_words(static_cast<Value>(op(from_words<Value>(&old), value)))[0]);
      }
    });
  }

 private:
  /// Calls use(word of the value): under the lock of the home bucket, or, where slots are kept, without it.
  template <class Use>
  [[nodiscard]] bool change(Key const& key, Use const& use) const {
    if constexpr (keeps) {
      std::size_t const at = find(key);
      if (at == 0) return false;
      use(at);
    } else {
      bucket_state const state(words_.load(first_));
      if (state.is_locked()) return false;
      std::size_t const at = value_of(first_, key, state);
      if (at == 0 || !words_.replace(first_, state.bits(), state.locked().bits())) return false;
      use(at);
      unlock(state);
    }
    return true;
  }
  // release, in map_words: pairs with the acquire of a lookup or of the next lock.
  void unlock(bucket_state changed) const { words_.store(first_, changed.counted().bits()); }
  /// The first slot that is free, with a branch for each, else `slots`.
  [[nodiscard]] static std::size_t free_slot(bucket_state state) {
    if (!state.is_taken(0)) return 0;
    if (!state.is_taken(1)) return 1;
    return state.is_taken(2) ? bucket_state::slots : 2;
  }
  /// Whether a slot of the home bucket holds the key, present or erased.
  [[nodiscard]] bool is_kept(Key const& key, bucket_state state) const {
    std::uint64_t const word = to_words(key)[0];
    for (std::size_t slot = 0; slot < bucket_state::slots; ++slot) {
      if (state.is_taken(slot) && words_.load(first_ + layout::key(slot)) == word) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_changed(std::size_t bucket, bucket_state seen) const {
    return !keeps && words_.load(bucket) != seen.bits();
  }
  /// The word of the key's value, or 0 if the key is not present.
  [[nodiscard]] std::size_t find(Key const& key) const {
    std::size_t bucket = first_;
    do {
      std::size_t const at = value_of(bucket, key, bucket_state(words_.load(bucket)));
      if (at != 0) [[likely]]
        return at;
      bucket = words_.load(bucket + layout::next);
    } while (bucket != 0 && bucket != map_shape::deeper);
    return 0;
  }
  [[nodiscard]] std::size_t value_of(std::size_t bucket, Key const& key, bucket_state state) const {
    std::uint64_t const word = to_words(key)[0];
    if (holds(bucket, 0, word, state)) return bucket + layout::value(0);
    if (holds(bucket, 1, word, state)) return bucket + layout::value(1);
    if (holds(bucket, 2, word, state)) return bucket + layout::value(2);
    return 0;
  }
  [[nodiscard]] bool holds(std::size_t bucket, std::size_t slot, std::uint64_t key,
                           bucket_state state) const {
    return words_.load(bucket + layout::key(slot)) == key && state.is_present(slot);
  }

  Words words_;
  std::size_t first_;
};

}  // namespace PGAS_NAMESPACE::detail
