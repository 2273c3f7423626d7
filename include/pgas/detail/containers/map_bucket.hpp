// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/epoch/target_view.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The slots of a bucket that may hold a key, found by tags without a branch for each slot. So a lookup
/// rarely compares more than one key. Where comparing is one instruction, map_home_line needs no tags.
class slot_matches {
 public:
  constexpr explicit slot_matches(std::uint32_t marks) noexcept : marks_(marks) {}
  [[nodiscard]] constexpr bool any() const noexcept { return marks_ != 0; }
  [[nodiscard]] constexpr std::size_t first() const noexcept {
    return static_cast<std::size_t>(std::countr_zero(marks_)) / 8;
  }
  [[nodiscard]] constexpr slot_matches rest() const noexcept { return slot_matches(marks_ & (marks_ - 1)); }

 private:
  std::uint32_t marks_;  ///< bit 7 of byte i: slot i
};

/// The state of a bucket in one word, so that one load tells which slots hold keys, and one
/// compare-and-swap takes the lock only of a bucket that has not changed.
///
/// Bits    0: a rank changes the bucket or its chain. 1 to 3: slot i holds a key that is present.
///         8 to 31: a byte for each slot. It is 0 if the slot is free; else bit 7 is set, and the others are
///         bits of the key's hash, its tag. 32 to 63: the number of changes, which wraps around.
class bucket_state {
 public:
  static constexpr std::size_t slots = 3;

  constexpr explicit bucket_state(std::uint64_t bits) noexcept : bits_(bits) {}
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

  [[nodiscard]] constexpr bool is_locked() const noexcept { return (bits_ & locked_bit) != 0; }
  [[nodiscard]] constexpr bool is_present(std::size_t slot) const noexcept {
    return (bits_ & present_bit(slot)) != 0;
  }
  [[nodiscard]] constexpr bool is_taken(std::size_t slot) const noexcept {
    return (bits_ & byte_of(slot, taken)) != 0;
  }
  /// The slots that may hold a key with this tag. Each that does is among them; one whose tag differs in its
  /// lowest bit may be, so the key decides.
  [[nodiscard]] constexpr slot_matches matches(unsigned tag) const noexcept {
    constexpr std::uint32_t ones = 0x010101;
    auto const differs = static_cast<std::uint32_t>(bits_ >> 8U & 0xffffffU) ^ (taken | tag) * ones;
    return slot_matches((differs - ones) & ~differs & 0x808080U);  // the bytes that are 0
  }
  /// The tag of a hash: 7 bits.
  [[nodiscard]] static constexpr unsigned tag_of(std::uint64_t hash) noexcept {
    return static_cast<unsigned>(hash & 0x7fU);
  }

  [[nodiscard]] constexpr bucket_state locked() const noexcept { return bucket_state(bits_ | locked_bit); }
  /// The state after one more change.
  [[nodiscard]] constexpr bucket_state counted() const noexcept { return bucket_state(bits_ + one_change); }
  [[nodiscard]] constexpr bucket_state with(std::size_t slot, unsigned tag) const noexcept {
    return bucket_state((bits_ & ~byte_of(slot, 0xff)) | byte_of(slot, taken | tag) | present_bit(slot));
  }
  /// The key of the slot is absent, and the slot keeps it.
  [[nodiscard]] constexpr bucket_state without(std::size_t slot) const noexcept {
    return bucket_state(bits_ & ~present_bit(slot));
  }
  /// The slot is free.
  [[nodiscard]] constexpr bucket_state freed(std::size_t slot) const noexcept {
    return bucket_state(bits_ & ~present_bit(slot) & ~byte_of(slot, 0xff));
  }

 private:
  static constexpr std::uint64_t locked_bit = 1;
  static constexpr std::uint64_t one_change = std::uint64_t{1} << 32U;
  static constexpr unsigned taken = 0x80;
  static constexpr std::uint64_t present_bit(std::size_t slot) noexcept {
    return std::uint64_t{1} << (1 + slot);
  }
  static constexpr std::uint64_t byte_of(std::size_t slot, std::uint64_t value) noexcept {
    return value << (8 + 8 * slot);
  }

  std::uint64_t bits_;
};
static_assert(bucket_state(0).with(2, 5).matches(5).first() == 2 && !bucket_state(0).matches(0).any());

/// The number of words that hold a T.
template <class T>
inline constexpr std::size_t words_for = (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

/// Copies a value to words; bytes behind the value are zero.
template <transportable T>
[[nodiscard]] std::array<std::uint64_t, words_for<T>> to_words(T const& value) noexcept {
  std::array<std::uint64_t, words_for<T>> words{};
  std::memcpy(words.data(), static_cast<void const*>(&value), sizeof(T));
  return words;
}
template <transportable T>
[[nodiscard]] T from_words(std::uint64_t const* words) noexcept {
  T value{};
  std::memcpy(static_cast<void*>(&value), words, sizeof(T));
  return value;
}

/// The word of a bucket that names the next bucket of its chain.
inline constexpr std::size_t word_of_next = 1;

/// The places of a bucket's words, counted from its first. A bucket of small keys and values is one line.
///
/// Words    its state; the first word of the next bucket of its chain, 0 if there is none; three slots, each
///          a key and its value.
template <transportable Key, transportable Value>
struct bucket_layout {
  static constexpr std::size_t key_words = words_for<Key>;
  static constexpr std::size_t value_words = words_for<Value>;
  static constexpr std::size_t slot_words = key_words + value_words;
  static constexpr std::size_t line_words = 8;
  static constexpr std::size_t next = word_of_next;
  static constexpr std::size_t words =
      (2 + bucket_state::slots * slot_words + line_words - 1) / line_words * line_words;

  static constexpr std::size_t key(std::size_t slot) noexcept { return 2 + slot * slot_words; }
  static constexpr std::size_t value(std::size_t slot) noexcept { return key(slot) + key_words; }
};

/// Whether the words of two values of T combine as the values do, so that a message can name the operation.
template <class Op, class T>
inline constexpr bool combines_words = false;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::sum, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_and, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_or, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_xor, T> = true;

/// An operation on values as an operation on their words.
template <class T, class Op>
struct op_on_words {
  Op op;
  std::uint64_t operator()(std::uint64_t old, std::uint64_t value) const {
    return to_words<T>(op(from_words<T>(&old), from_words<T>(&value)))[0];
  }
};

/// Combines the value in a word with another one, in one atomic step.
template <class Words, class Value, class Op>
void combine(Words const& words, std::size_t at, Value const& value, Op op) {
  if constexpr (combines_words<Op, Value>) {
    words.accumulate(at, to_words(value)[0], op);
  } else {
    words.accumulate(at, to_words(value)[0], op_on_words<Value, Op>{op});
  }
}

/// The words of one rank's part of a map.
///
/// Single words are read and changed by atomic operations. A slot is several words, which another rank may
/// change meanwhile; a reader then reads again. In near memory each word of a slot is an atomic load or
/// store, so that no access is a data race: an instruction like any other. Elsewhere a slot is one get, or
/// one put that has arrived when `write` returns.
///
/// `near` is the part that `view` opens, where it is plain memory, else null. Its words are modified one by
/// one and never many at a time, so no mode of elements is announced, and an access is one instruction.
template <class State, class View>
class map_words {
 public:
  map_words(State& state, View const& view, std::uint64_t* near) noexcept
      : state_(&state), view_(&view), near_(near) {}

  static constexpr bool by_single_words = View::where == part_is::near && State::has_native_elements;

  // acquire and release, here and in target_view: the load of a state pairs with the store that unlocks it.
  [[nodiscard]] std::uint64_t load(std::size_t at) const {
    if constexpr (by_single_words) {
      return element(at).load();
    } else {
      return view_->atomic_load(at);
    }
  }
  void store(std::size_t at, std::uint64_t value) const {
    if constexpr (by_single_words) {
      element(at).store(value);
    } else {
      view_->atomic_store(at, value);
    }
  }
  /// Replaces a word that is `expected`, and returns whether it was.
  [[nodiscard]] bool replace(std::size_t at, std::uint64_t expected, std::uint64_t desired) const {
    if constexpr (by_single_words) {
      return element(at).compare_exchange(expected, desired) == expected;
    } else {
      return view_->compare_exchange(at, expected, desired);
    }
  }
  [[nodiscard]] std::uint64_t fetch_add(std::size_t at, std::uint64_t value) const {
    if constexpr (by_single_words) {
      return element(at).fetch_op(value, op::sum{});
    } else {
      return view_->fetch_add(at, value);
    }
  }
  /// Has taken effect at return, unlike target_view::accumulate between nodes.
  template <class Op>
  void accumulate(std::size_t at, std::uint64_t value, Op op) const {
    if constexpr (by_single_words && requires { Op::kind; }) {
      element(at).fetch_op(value, op);
    } else if constexpr (by_single_words) {
      for (std::uint64_t old = load(at);;) {
        std::uint64_t const found = element(at).compare_exchange(old, op(old, value));
        if (found == old) return;
        old = found;
      }
    } else {
      static_cast<void>(view_->get_accumulate(at, value, op));
    }
  }

  template <std::size_t N>
  [[nodiscard]] std::array<std::uint64_t, N> read(std::size_t first) const {
    std::array<std::uint64_t, N> words;
    if constexpr (by_single_words) {
      // acquire: pairs with the release of each word in write(). A reader that finds a word of a later
      // change then finds that the state has changed, too.
      for (std::size_t i = 0; i < N; ++i) words[i] = load(first + i);
    } else {
      [[maybe_unused]] auto const unread = copying();
      view_->get(first, std::span<std::uint64_t>(words));
      view_->flush_local();
    }
    return words;
  }
  void write(std::size_t first, std::span<std::uint64_t const> words) const {
    if constexpr (by_single_words) {
      // release: pairs with the acquire in read().
      for (std::size_t i = 0; i < words.size(); ++i) store(first + i, words[i]);
    } else {
      view_->put(first, words);
      view_->flush();  // before the state of the bucket tells of it
    }
  }

 private:
  struct nothing {
    ~nothing() {}  // NOLINT(modernize-use-equals-default): not trivial, so that a guard is no unused variable
  };
  /// The program never uses a slot that changed while it was read, so a checker of races ignores it.
  [[nodiscard]] auto copying() const noexcept {
    if constexpr (race_checked_segment<typename State::segment_type>) {
      return state_->segment.copying();
    } else {
      return nothing{};
    }
  }
  [[nodiscard]] atomic_element<std::uint64_t> element(std::size_t at) const noexcept {
    return atomic_element<std::uint64_t>(near_[at]);
  }

  State* state_;
  View const* view_;
  std::uint64_t* near_;
};

}  // namespace PGAS_NAMESPACE::detail
