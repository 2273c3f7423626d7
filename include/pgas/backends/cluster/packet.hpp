// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/platform/element_request.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::cluster {

/// What a request asks its receiver to do with its own memory.
enum class action : std::uint8_t {
  put,              ///< the body goes to offset
  put_rows,         ///< the rows behind a `row_places` go to offset, offset + pitch, ...
  put_long,         ///< `value` bytes follow in a message of their own
  get,              ///< answered with `value` bytes
  get_rows,         ///< answered with rows, without gaps
  get_long,         ///< answered with `value` bytes in a message of their own
  element_modify,   ///< answered with the element's old value
  element_compare,  ///< answered with the element's old value; the body is the expected one
  element_load,     ///< answered with the element
  element_store,    ///< answered
  element_combine,  ///< modifies elements by the values of the body, without an answer
  word_load,        ///< answered with the control word
  word_store,
  word_add_only,
  word_flip_only,
  word_add,  ///< answered with the old word, like the three below
  word_xor,
  word_exchange,
  word_compare,  ///< the body is the expected word
  answer,        ///< of the receiver's oldest open question: `value`, or the body
  letter,        ///< the body goes to mailbox `home`, from team rank `offset`, and returns room for `value`
  room,          ///< the same without a letter
};

/// The head of a request; `body` bytes follow it. A packet leaves out a value of 0.
struct request_head {
  action what{};
  element_kind element{};
  op_kind op{};
  std::uint8_t has_value = 0;
  std::uint32_t body = 0;
  std::uint64_t home = 0;    ///< the number of the memory
  std::uint64_t offset = 0;  ///< in bytes, in the receiver's part
  std::uint64_t value = 0;
};
static_assert(std::has_unique_object_representations_v<request_head>, "no undefined byte may be sent");

/// The bytes of a head in a packet.
constexpr std::size_t head_bytes(bool has_value) noexcept {
  return has_value ? sizeof(request_head) : sizeof(request_head) - sizeof(request_head::value);
}

/// The rows of a put_rows or get_rows in the receiver's part.
struct row_places {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t pitch = 0;
};

/// The head of a packet: requests follow it without gaps.
struct packet_head {
  std::uint64_t carried_out = 0;  ///< the number of the receiver's packets that the sender has carried out
  std::uint64_t wants_receipt = 0;
};

/// The longest packet. MPI sends a longer message in several steps, or first asks its receiver.
inline constexpr std::size_t packet_bytes = 8192;
/// The longest body of a request.
inline constexpr std::size_t longest_body =
    packet_bytes - sizeof(packet_head) - sizeof(request_head) - sizeof(row_places);
/// The longest put or get that travels in packets. A longer one is a message of its own.
inline constexpr std::size_t longest_in_packets = 4 * longest_body;

/// The allocator of bytes that are about to be written: new ones have no value.
template <class T>
struct unset_allocator : std::allocator<T> {
  template <class Other>
  struct rebind {
    using other = unset_allocator<Other>;
  };
  template <class Other, class... Arguments>
  void construct(Other* at, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      ::new (static_cast<void*>(at)) Other;
    } else {
      std::construct_at(at, std::forward<Arguments>(arguments)...);
    }
  }
};

/// A packet in its serialized form.
using packet = std::vector<std::byte, unset_allocator<std::byte>>;

/// Reads a value at `at`, which need not be aligned.
template <class T>
T read_as(std::byte const* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Copies the rows of a part to packed bytes, and back.
inline void pack_rows(std::byte* to, std::byte const* from, std::size_t pitch, row_shape shape) noexcept {
  if (shape.row_bytes == 0) return;
  for (std::size_t row = 0; row < shape.rows; ++row)
    std::memcpy(to + row * shape.row_bytes, from + row * pitch, shape.row_bytes);
}
inline void unpack_rows(std::byte* to, std::size_t pitch, std::byte const* from, row_shape shape) noexcept {
  if (shape.row_bytes == 0) return;
  for (std::size_t row = 0; row < shape.rows; ++row)
    std::memcpy(to + row * pitch, from + row * shape.row_bytes, shape.row_bytes);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::cluster
