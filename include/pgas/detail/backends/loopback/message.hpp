// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/elements/element_request.hpp>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>
#include <vector>

namespace PGAS_NAMESPACE::detail::loopback {

/// The request of a message. Every message but `answer` goes to the owner of the memory that it names.
enum class message_kind : std::uint8_t {
  put,              ///< one-way; rows of the body go to offset, offset + pitch, ...
  get,              ///< answered with rows, without gaps
  part_size,        ///< answered with the bytes of the owner's part
  flush,            ///< answered when everything before it has been carried out
  element_modify,   ///< answered with the element's old value
  element_compare,  ///< answered with the element's old value
  element_load,     ///< answered with the element
  element_store,    ///< answered
  word_load,        ///< answered with the control word
  word_store,       ///< answered, but the sender need not wait for the answer
  word_fetch_add,   ///< answered with the old word, like the three below
  word_fetch_xor,
  word_exchange,
  word_compare,
  letter,   ///< one-way: a message of a mailbox
  credit,   ///< one-way: the receiver has room for this many more letters
  release,  ///< one-way, to the rank that reserved the memory: the sender has released it
  forget,   ///< one-way, from that rank: all ranks have released the memory
  answer,
};

/// The outcome of a request.
enum class outcome : std::uint8_t {
  done,
  unknown_memory,  ///< the owner has not attached it yet, or has released it
  out_of_range,    ///< past the end of the owner's memory, or not aligned
  unsupported,     ///< the element has no such operation
};

/// The head of every message; `body` bytes follow it. It holds numbers only, since only bytes cross between
/// ranks.
struct message {
  message_kind kind{};
  element_kind element{};
  op_kind op{};
  outcome result{};
  std::int32_t sender = 0;   ///< of a letter or credit: the sender's number in the mailbox's team
  std::uint64_t body = 0;    ///< how many bytes follow
  std::uint64_t memory = 0;  ///< the handle of its memory
  std::uint64_t ticket = 0;  ///< of a question, repeated in its answer; 0: no answer is awaited
  std::uint64_t number =
      0;  ///< the latest one-way message from the asker to the owner, repeated in the answer
  std::uint64_t offset = 0;  ///< in bytes; of a word its index
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t pitch = 0;
  std::uint64_t value = 0;     ///< an operand, or the result
  std::uint64_t expected = 0;  ///< a second operand
};
static_assert(std::has_unique_object_representations_v<message>, "no undefined byte may be sent");

/// A message in its serialized form.
using packet = std::vector<std::byte>;

inline void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      row_shape shape) noexcept {
  if (shape.row_bytes == 0) return;
  for (std::size_t row = 0; row < shape.rows; ++row, to += to_pitch, from += from_pitch)
    std::memcpy(to, from, shape.row_bytes);
}

/// Packs a message whose body is rows of memory.
inline packet pack(message m, std::byte const* rows, std::size_t pitch, row_shape shape) {
  m.body = shape.rows * shape.row_bytes;
  packet bytes(sizeof m + m.body);
  std::memcpy(bytes.data(), &m, sizeof m);
  copy_rows(bytes.data() + sizeof m, shape.row_bytes, rows, pitch, shape);
  return bytes;
}
inline packet pack(message const& m, bytes_in body = {}) { return pack(m, body.data(), 0, {1, body.size()}); }

inline message head_of(packet const& bytes) noexcept {
  message m;
  std::memcpy(&m, bytes.data(), sizeof m);
  return m;
}
inline bytes_in body_of(packet const& bytes) noexcept { return bytes_in(bytes).subspan(sizeof(message)); }

}  // namespace PGAS_NAMESPACE::detail::loopback
