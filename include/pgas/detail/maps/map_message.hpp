// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/maps/model/machine.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>

namespace PGAS_NAMESPACE::detail {

/// The queues of a channel that a map uses.
enum map_queue : std::size_t {
  asynchronous,   ///< requests to servers, and messages that a replica has not asked for: a handler gets them
  answers,        ///< answers to the client, which receives them itself
  from_handlers,  ///< what a handler sends to a handler: it always has room, so that no handler waits
  map_queues      ///< the number of queues
};

/// What a message of a map says: the low bits of its first word.
enum class map_kind : word {
  lookup,       ///< a client asks a server for the value of a key
  update,       ///< a client gives a server a new value, or erases a key
  invalidate,   ///< a server tells a client that its copy of a key is too old
  invalidated,  ///< the client has no copy any more
  next_number,  ///< a client asks a sequencer for the number of its next update
  last_number,  ///< a client asks a sequencer for the number of the last update
  numbered,     ///< an update with its number
  all_have_it,  ///< all replicas have received the update of this sender
  vote,         ///< a replica asks whether it may update a key
  commit,       ///< it does
  abort,        ///< it does not
  answer,       ///< the answer to a lookup or an update
  ended,        ///< a client will send no more requests, or a server knows that of all clients
};

/// The number of words that a value needs in a message.
template <transportable T>
inline constexpr std::size_t message_words = (sizeof(T) + sizeof(word) - 1) / sizeof(word);

/// The lengths of the maps' messages, for their model. A value comes as the answer, or behind a first word
/// where answers share their queue with other messages.
template <transportable Key, transportable Value>
[[nodiscard]] constexpr map_model::message_lengths lengths_of_messages(bool answers_are_alone) noexcept {
  constexpr std::size_t key = message_words<Key>;
  constexpr std::size_t both = key + message_words<Value>;
  return {.lookup_request = 1 + key,
          .update_request = 1 + both,
          .answer = static_cast<double>(message_words<Value>) + (answers_are_alone ? 0 : 1),
          .sequence_request = 1,
          .update = 2 + both,
          .acknowledgement = 1,
          .all_acknowledged = 1,
          .invalidation = 1 + key,
          .vote_request = 1 + key,
          .vote = 1,
          .commit = 1 + both};
}

/// Writes the bytes of a value to words. Bytes of the last word behind the value are 0.
template <transportable T>
void write_value(std::span<word> words, T const& value) noexcept {
  words[message_words<T> - 1] = 0;
  std::memcpy(words.data(), &value, sizeof(T));
}
template <transportable T>
[[nodiscard]] T read_value(std::span<word const> words) noexcept {
  T value;
  std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
  return value;
}

/// A message of at most `Most` words. Its first word holds its kind and a number below 2^56.
template <std::size_t Most>
class map_message {
 public:
  explicit constexpr map_message(map_kind kind, word number = 0) noexcept {
    add(static_cast<word>(kind) | number << 8U);
  }

  constexpr map_message& add(word value) noexcept {
    words_[used_++] = value;
    return *this;
  }
  template <transportable T>
  map_message& add_value(T const& value) noexcept {
    write_value(std::span(words_).subspan(used_), value);
    used_ += message_words<T>;
    return *this;
  }
  /// Adds a value, or nothing: the length of the message tells its reader.
  template <transportable T>
  map_message& add_value(std::optional<T> const& value) noexcept {
    return value ? add_value(*value) : *this;
  }

  // NOLINTNEXTLINE(google-explicit-constructor): a message is its words
  operator std::span<word const>() const noexcept { return std::span(words_).first(used_); }

 private:
  std::array<word, Most> words_;
  std::size_t used_ = 0;
};

/// Reads a message from its begin to its end.
class map_reader {
 public:
  explicit map_reader(std::span<word const> message) noexcept : rest_(message), first_(next()) {}

  [[nodiscard]] map_kind kind() const noexcept { return static_cast<map_kind>(first_ & 0xFFU); }
  [[nodiscard]] word number() const noexcept { return first_ >> 8U; }
  /// The words that have not been read.
  [[nodiscard]] std::span<word const> rest() const noexcept { return rest_; }

  word next() noexcept {
    word const value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  template <transportable T>
  T value() noexcept {
    T const result = read_value<T>(rest_);
    rest_ = rest_.subspan(message_words<T>);
    return result;
  }
  /// The value at the end of the message, or nothing if the message ends here.
  template <transportable T>
  std::optional<T> last_value() noexcept {
    if (rest_.empty()) return std::nullopt;
    return value<T>();
  }

 private:
  std::span<word const> rest_;
  word first_;
};

/// The answer to a lookup on a queue that has nothing but answers: a present value is the whole message. The
/// answer for an absent key is a word longer.
template <transportable T>
class map_answer {
 public:
  explicit map_answer(std::optional<T> const& value) noexcept : used_(message_words<T> + (value ? 0 : 1)) {
    if (value) write_value(words_, *value);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a message is its words
  operator std::span<word const>() const noexcept { return std::span(words_).first(used_); }

  [[nodiscard]] static std::optional<T> read(std::span<word const> message) noexcept {
    if (message.size() != message_words<T>) return std::nullopt;
    return read_value<T>(message);
  }

 private:
  std::array<word, message_words<T> + 1> words_{};
  std::size_t used_;
};

}  // namespace PGAS_NAMESPACE::detail
