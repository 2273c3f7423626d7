// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/containers/map_bucket.hpp>
#include <pgas/containers/map_combine.hpp>
#include <pgas/containers/map_policy.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Whether two keys are equal exactly if their words are.
template <class Key, class Equal>
inline constexpr bool equal_as_words =
    (std::is_integral_v<Key> || std::is_enum_v<Key>)&&words_for<Key> == 1 &&
    (std::is_same_v<Equal, std::equal_to<Key>> || std::is_same_v<Equal, std::equal_to<>>);

/// Whether a map has a short way for its present keys: each bucket is one line.
template <class Key, class Value, class Equal>
inline constexpr bool has_home_line =
    bucket_layout<Key, Value>::words == bucket_layout<Key, Value>::line_words && equal_as_words<Key, Equal>;

/// The short way of operations on a key that is present in its home bucket, which is one line of near memory.
/// It takes the protocol's steps for this case, see map_chain. Each member returns false if the case is
/// another one, or if the bucket changes meanwhile; nothing has happened then, and map_chain does the whole.
///
/// Source    None. Single calls overlap their cache misses as far as the processor executes later calls
///           meanwhile. So each key of the line has a branch: the processor guesses the slot, and knows the
///           address of the value before the line arrives. With an address that depends on the line, a
///           locked instruction holds up the loads behind it. A wrong guess costs little, since the guessed
///           way asks for the lines of later keys, too. The short way has no call and no store of its own: a
///           load that follows a locked instruction waits for stores before it.
/// Costs     a miss. A lookup is about 40 instructions with the hash, and an addition the same with one
///           locked instruction.
template <class Words, transportable Key, transportable Value, map_policy Policy>
class map_home_line {
  using layout = bucket_layout<Key, Value>;
  static constexpr bool keeps = Policy.slots == erased_slots::kept;
  static constexpr map_steps steps = Policy.steps;
  static_assert(bucket_state::slots == 3 && layout::words == layout::line_words);

 public:
  map_home_line(Words const& words, std::size_t home) noexcept
      : words_(words), first_(map_shape::first + home * layout::words) {}

  /// Also returns true, without a value, if the key is absent from a chain of one bucket.
  [[nodiscard]] bool lookup(Key const& key, std::optional<Value>& value) const {
    for (std::size_t bucket = first_;;) {
      // acquire: pairs with the release of the change that stored the state.
      bucket_state const state(words_.load(bucket));
      if (!keeps && steps.waits_for_writer && state.is_locked()) return false;
      std::size_t const at = value_of(bucket, key, state);
      if (at != 0) [[likely]] {
        std::uint64_t const word = words_.load(at);
        if (has_changed(bucket, state)) return false;
        value.emplace(from_words<Value>(&word));
        return true;
      }
      std::size_t const next = words_.load(bucket + layout::next);
      if (next == 0) return bucket == first_ && !state.is_locked() && !has_changed(bucket, state);
      bucket = next;
    }
  }
  /// Only where slots are kept.
  [[nodiscard]] bool assign(Key const& key, Value const& value) const
    requires keeps
  {
    std::size_t const at = find(key);
    if (at == 0) return false;
    words_.store(at, to_words(value)[0]);
    return true;
  }
  /// Only where slots are kept.
  template <class Op>
    requires keeps
  [[nodiscard]] bool accumulate(Key const& key, Value const& value, Op op) const {
    std::size_t const at = find(key);
    if (at == 0) return false;
    combine(words_, at, value, op);
    return true;
  }

 private:
  [[nodiscard]] bool has_changed(std::size_t bucket, bucket_state seen) const {
    return !keeps && steps.validates && words_.load(bucket) != seen.bits();
  }
  /// The word of the key's value, or 0 if the key is not present.
  [[nodiscard]] std::size_t find(Key const& key) const {
    std::size_t bucket = first_;
    do {
      std::size_t const at = value_of(bucket, key, bucket_state(words_.load(bucket)));
      if (at != 0) [[likely]]
        return at;
      bucket = words_.load(bucket + layout::next);
    } while (bucket != 0);
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
