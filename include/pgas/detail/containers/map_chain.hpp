// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/containers/map_policy.hpp>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/detail/containers/map_table.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The effect of an operation on the set of keys.
enum class map_change {
  none,      ///< the key was there, or was not, as before
  made,      ///< the key was inserted or erased
  no_space,  ///< the part has no slot for the key
};

/// The buckets that may hold one key: a home bucket and its overflow buckets, in one part of a map. The
/// object serves one operation.
///
/// A slot is free, present (it holds a key and its value), or, with erased_slots::kept, erased (it holds a
/// key without a value). A key never moves while it is present, and it is present in one slot at most.
///
/// Change    A rank locks the chain: it sets bit 0 of the home bucket's state by a compare-and-swap. It finds
///           the key, or a free slot, or adds an overflow bucket. Before it changes an overflow bucket, it
///           sets bit 0 of that bucket's state, too. It writes the slot, and then stores the state with a new
///           version and bit 0 clear. A new overflow bucket is complete before the chain links it.
/// Growth    A full chain gets an overflow bucket, or continues in the next extent: see map_shape. Its last
///           bucket then says `deeper`, and four buckets continue it, of which three may be empty yet. No key
///           moves, so readers go on. The lock of the home bucket guards all of them.
/// Lookup    A reader loads the state of a bucket, reads the slots whose tags match, and loads the state
///           again. If that has changed, or bit 0 was set, the reader begins again. If no tag matches, the
///           key is not in the bucket at the first load: a change takes effect when it stores the state.
///           A key that is found in no bucket was absent at one moment of the lookup: if it had been present
///           throughout, it would have been in one bucket all the time.
/// Kept      A slot's key never changes, so a key that matches needs no second look. An update or accumulate
///           changes the value of a present key by one atomic access without the lock. Another rank may erase
///           the key between the look at the state and this access. The change then counts as one just before
///           that erasure, which destroys it: the key's next insertion stores its value. If the access comes
///           after that store, it counts as a change of the new value, whose insertion took effect at the
///           store. A lookup that finds the key's slot without a value while the bucket is locked therefore
///           begins again.
/// Source    The version is Lamport's, from Concurrent reading and writing (1977), in the form of sequence
///           locks; its memory orders are those of Boehm 2012. Ours differs. The version shares a word with
///           the lock, so the lock is taken only in the state that was seen, and with the tags of the keys,
///           so a lookup of an absent key reads no key.
/// Costs     in near memory, a lookup reads one line where key and value have a word each. In far memory it
///           is two loads and a get; a change is two loads, a compare-and-swap, a get, a put and a store.
///           With `kept`, a change of a present key is one locked instruction. The bucket's line tells its
///           address, and x86 processors begin few later loads before it. map_home_line mends that for
///           buckets of one line, and a bulk call overlaps the misses of its keys.
template <class State, class Words, transportable Key, transportable Value, map_policy Policy, class Equal>
class map_chain {
  using layout = bucket_layout<Key, Value>;
  static constexpr bool keeps = Policy.slots == erased_slots::kept;

 public:
  map_chain(State& state, Words const& words, map_shape const& shape, std::size_t home, unsigned tag,
            Equal const& equal, std::string_view operation, std::uint32_t hash = 0) noexcept
      : state_(&state),
        words_(words),
        shape_(&shape),
        home_(shape.at(home)),
        tag_(tag),
        equal_(&equal),
        operation_(operation),
        hash_(hash) {}

  /// The value of a key that is present.
  [[nodiscard]] std::optional<Value> lookup(Key const& key) const {
    std::optional<Value> value;
    lookup(key, value);
    return value;
  }
  /// The same, in `value`, which is empty before.
  void lookup(Key const& key, std::optional<Value>& value) const {
    for (unsigned attempt = 0; !look(key, value); pause(attempt++)) value.reset();
  }

  /// Inserts a key that is absent. Returns `none` if the key was present.
  [[nodiscard]] map_change insert(Key const& key, Value const& value) const {
    return under_lock([&](bucket_state home) {
      place const at = find(key, home);
      if (at.is_present) return unlock(home, map_change::none);
      return put_new(at, home, key, value);
    });
  }
  /// Inserts a key, or gives it another value. Returns `none` if the key was present.
  [[nodiscard]] map_change assign(Key const& key, Value const& value) const {
    if constexpr (keeps) {
      if (at_present(key, [&](std::size_t at) { words_.store(at, to_words(value)[0]); }))
        return map_change::none;
    }
    return under_lock([&](bucket_state home) {
      place const at = find(key, home);
      if (!at.is_present) return put_new(at, home, key, value);
      if constexpr (keeps) {
        words_.store(at.value(), to_words(value)[0]);
        return unlock(home, map_change::none);
      } else {
        return put_value(at, home, value);
      }
    });
  }
  /// Inserts a key, or combines its value. Returns `none` if the key was present.
  template <class Op>
  [[nodiscard]] map_change accumulate(Key const& key, Value const& value, Op op) const {
    if constexpr (keeps) {
      if (at_present(key, [&](std::size_t at) { detail::combine(words_, at, value, op); }))
        return map_change::none;
    }
    return under_lock([&](bucket_state home) {
      place const at = find(key, home);
      if (!at.is_present) return put_new(at, home, key, value);
      if constexpr (keeps) {
        detail::combine(words_, at.value(), value, op);
        return unlock(home, map_change::none);
      } else {
        auto const old = words_.template read<layout::value_words>(at.value());
        return put_value(at, home, op(from_words<Value>(old.data()), value));
      }
    });
  }
  /// Makes a key absent. Returns `none` if it was absent.
  [[nodiscard]] map_change erase(Key const& key) const {
    return under_lock([&](bucket_state home) {
      place const at = find(key, home);
      if (!at.is_present) return unlock(home, map_change::none);
      finish(at, home, keeps ? at.state.without(at.slot) : at.state.freed(at.slot));
      return map_change::made;
    });
  }
  /// Gives the key what change(its value, or nothing) returns: a value, or nothing. The chain is locked.
  template <class Change>
    requires(!keeps)
  [[nodiscard]] map_change transform(Key const& key, Change&& change) const {
    return under_lock([&](bucket_state home) {
      place const at = find(key, home);
      std::optional<Value> old;
      if (at.is_present) {
        auto const words = words_.template read<layout::value_words>(at.value());
        old.emplace(from_words<Value>(words.data()));
      }
      std::optional<Value> const now = change(std::as_const(old));
      if (now) return at.is_present ? put_value(at, home, *now) : put_new(at, home, key, *now);
      if (!at.is_present) return unlock(home, map_change::none);
      finish(at, home, at.state.freed(at.slot));
      return map_change::made;
    });
  }

 private:
  /// A slot of the chain.
  struct place {
    std::size_t bucket = 0;  ///< its first word; 0: there is no free slot
    std::size_t slot = 0;
    bucket_state state{0};    ///< of the bucket
    bool is_present = false;  ///< the slot holds the key
    bool is_erased = false;   ///< the slot holds the key, and is kept for it
    std::size_t last = 0;     ///< the last bucket of the chain
    std::size_t extent = 0;   ///< of the last bucket

    [[nodiscard]] std::size_t key() const noexcept { return bucket + layout::key(slot); }
    [[nodiscard]] std::size_t value() const noexcept { return bucket + layout::value(slot); }
  };

  [[nodiscard]] bool is_key(std::uint64_t const* words, Key const& key) const {
    return (*equal_)(from_words<Key>(words), key);
  }

  /// Searches once. Returns false if the chain changed meanwhile.
  [[nodiscard]] bool look(Key const& key, std::optional<Value>& value) const {
    std::size_t bucket = home_;
    std::size_t extent = 0;
    do {
      bucket_state const state(words_.load(bucket));
      for (auto m = state.matches(tag_); m.any(); m = m.rest()) {
        std::size_t const slot = m.first();
        if constexpr (keeps) {
          auto const found = words_.template read<layout::key_words>(bucket + layout::key(slot));
          if (!is_key(found.data(), key)) continue;
          if (state.is_present(slot)) {
            std::uint64_t const word = words_.load(bucket + layout::value(slot));
            value.emplace(from_words<Value>(&word));
            return true;
          }
          return !state.is_locked();
        } else {
          if (state.is_locked()) return false;
          if constexpr (Words::by_single_words) {
            auto const found = words_.template read<layout::key_words>(bucket + layout::key(slot));
            bool const is_it = is_key(found.data(), key);
            if (is_it) {
              auto const its = words_.template read<layout::value_words>(bucket + layout::value(slot));
              value.emplace(from_words<Value>(its.data()));
            }
            if (has_changed(bucket, state)) return false;
            if (is_it) return true;
          } else {
            auto const found = words_.template read<layout::slot_words>(bucket + layout::key(slot));
            if (has_changed(bucket, state)) return false;
            if (!is_key(found.data(), key)) continue;
            value.emplace(from_words<Value>(found.data() + layout::key_words));
            return true;
          }
        }
      }
      bucket = next_of(bucket, extent);
    } while (bucket != 0);
    return true;
  }
  [[nodiscard]] bool has_changed(std::size_t bucket, bucket_state seen) const {
    return words_.load(bucket) != seen.bits();
  }

  /// Calls use(place of the value) if the key is present, without the lock. Only where slots are kept.
  template <class Use>
  [[nodiscard]] bool at_present(Key const& key, Use&& use) const {
    std::size_t bucket = home_;
    std::size_t extent = 0;
    do {
      bucket_state const state(words_.load(bucket));
      for (auto m = state.matches(tag_); m.any(); m = m.rest()) {
        std::size_t const slot = m.first();
        auto const found = words_.template read<layout::key_words>(bucket + layout::key(slot));
        if (!is_key(found.data(), key)) continue;
        if (!state.is_present(slot)) return false;
        use(bucket + layout::value(slot));
        return true;
      }
      bucket = next_of(bucket, extent);
    } while (bucket != 0);
    return false;
  }
  /// Returns change(state of the home bucket before the lock), which unlocks.
  template <class Change>
  map_change under_lock(Change&& change) const {
    for (unsigned attempt = 0;; pause(attempt++)) {
      bucket_state const home(words_.load(home_));
      if (home.is_locked()) continue;
      if (words_.replace(home_, home.bits(), home.locked().bits())) return change(home);
    }
  }
  map_change unlock(bucket_state home, map_change result) const {
    words_.store(home_, home.bits());
    return result;
  }
  /// Stores the new state of a bucket, and unlocks the chain.
  void finish(place const& at, bucket_state home, bucket_state changed) const {
    words_.store(at.bucket, changed.counted().bits());
    if (at.bucket != home_) words_.store(home_, home.bits());
  }
  /// Marks an overflow bucket as changing, for readers; the lock marks the home bucket.
  void mark(place const& at) const {
    if (at.bucket != home_) words_.store(at.bucket, at.state.locked().bits());
  }

  /// Finds the key, or else the first free slot. The chain is locked.
  [[nodiscard]] place find(Key const& key, bucket_state state) const {
    place free;
    for (std::size_t bucket = home_;;) {
      for (auto m = state.matches(tag_); m.any(); m = m.rest()) {
        std::size_t const slot = m.first();
        auto const found = words_.template read<layout::key_words>(bucket + layout::key(slot));
        if (!is_key(found.data(), key)) continue;
        bool const is_present = state.is_present(slot);
        return {bucket, slot, state, is_present, !is_present, 0, 0};
      }
      for (std::size_t slot = 0; slot < bucket_state::slots && free.bucket == 0; ++slot) {
        if (!state.is_taken(slot)) free.bucket = bucket, free.slot = slot, free.state = state;
      }
      free.last = bucket;
      bucket = next_of(bucket, free.extent);
      if (bucket == 0) return free;
      state = bucket_state(words_.load(bucket));
    }
  }
  map_change put_value(place const& at, bucket_state home, Value const& value) const {
    mark(at);
    words_.write(at.value(), to_words(value));
    finish(at, home, at.state);
    return map_change::none;
  }
  map_change put_new(place at, bucket_state home, Key const& key, Value const& value) const {
    if (at.is_erased) {
      words_.store(at.value(), to_words(value)[0]);
      finish(at, home, at.state.with(at.slot, tag_));
      return map_change::made;
    }
    bool const is_longer = at.bucket == 0;
    std::size_t next = 0;
    if (is_longer) {
      if (goes_deeper(at.extent)) {
        at.bucket = shape_->at(shape_->bucket_in(at.extent + 1, hash_));
        next = map_shape::deeper;
        grow_to(at.extent + 1);
      } else {
        std::size_t const overflow = words_.fetch_add(map_shape::used, 1);
        if (overflow >= shape_->overflow_buckets) return unlock(home, map_change::no_space);
        next = at.bucket = shape_->at(shape_->home_buckets + overflow);
      }
    } else {
      mark(at);
    }
    std::array<std::uint64_t, layout::slot_words> slot;
    auto const key_words = to_words(key);
    auto const value_words = to_words(value);
    std::copy(key_words.begin(), key_words.end(), slot.begin());
    std::copy(value_words.begin(), value_words.end(), slot.begin() + layout::key_words);
    words_.write(at.key(), slot);
    if (is_longer) {
      words_.store(at.bucket, at.state.with(at.slot, tag_).bits());
      words_.store(at.last + layout::next, next);
      return unlock(home, map_change::made);
    }
    finish(at, home, at.state.with(at.slot, tag_));
    return map_change::made;
  }

  /// The bucket after one of the chain, or 0. `extent` is that of the bucket, and becomes that of the next
  /// one.
  [[nodiscard]] std::size_t next_of(std::size_t bucket, std::size_t& extent) const {
    std::size_t const next = words_.load(bucket + layout::next);
    if (next != map_shape::deeper) [[likely]]
      return next;
    return shape_->at(shape_->bucket_in(++extent, hash_));
  }
  /// Whether a full chain, whose last bucket is in an extent, continues in the next one.
  [[nodiscard]] bool goes_deeper(std::size_t extent) const {
    if (extent >= shape_->extents) return false;
    return extent > 0 || words_.load(map_shape::used) >= shape_->overflow_at_first();
  }
  /// Tells iterations that an extent is in use, before it has a key.
  void grow_to(std::size_t extent) const {
    for (auto grown = words_.load(map_shape::grown); grown < extent; grown = words_.load(map_shape::grown))
      static_cast<void>(words_.replace(map_shape::grown, grown, extent));
  }

  /// Lets other ranks proceed, and checks whether the job has failed. Not inlined: a chain is rarely locked.
  void pause(unsigned attempt) const { pause(*state_, attempt, operation_); }
  [[gnu::noinline]] static void pause(State& state, unsigned attempt, std::string_view operation) {
    state.control.pause(attempt, {.operation = operation});
  }

  State* state_;
  Words words_;
  map_shape const* shape_;
  std::size_t home_;
  unsigned tag_;
  Equal const* equal_;
  std::string_view operation_;
  std::uint32_t hash_;  ///< the bits that chose the home bucket, and choose those of extents
};

}  // namespace PGAS_NAMESPACE::detail
