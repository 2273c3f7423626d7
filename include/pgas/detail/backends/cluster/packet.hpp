// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/elements/element_request.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::cluster {

/// The operation that a request asks of its receiver, on the receiver's own memory.
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

/// The head of a request, in front of its `body` bytes.
struct request_head {
  action what{};
  element_kind element{};
  op_kind op{};
  std::uint32_t body = 0;
  std::uint64_t home = 0;    ///< the number of the memory
  std::uint64_t offset = 0;  ///< in bytes, in the receiver's part
  std::uint64_t value = 0;
};

/// The head of a request in a packet. Most take 16 bytes, so that a long row and its signal share a packet:
/// the upper halves of home and offset follow only if they have bits, then a value, if it is neither 0 nor
/// so short that it takes the place of the length of a body.
class packed_head {
 public:
  explicit constexpr packed_head(request_head const& head) noexcept
      : first_{.what = head.what,
               .element = head.element,
               .op = head.op,
               .form = form_of(head),
               .body =
                   (form_of(head) & value_in_body) != 0 ? static_cast<std::uint32_t>(head.value) : head.body,
               .home = static_cast<std::uint32_t>(head.home),
               .offset = static_cast<std::uint32_t>(head.offset)},
        upper_{static_cast<std::uint32_t>(head.home >> 32U), static_cast<std::uint32_t>(head.offset >> 32U)},
        value_(head.value) {}

  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes(first_.form); }
  /// The most bytes of a head without a value.
  static constexpr std::size_t most_without_value = 24;
  static constexpr std::size_t most = 32;

  void write(std::byte* at) const noexcept {
    std::memcpy(at, &first_, sizeof first_);
    at += sizeof first_;
    if ((first_.form & has_upper) != 0) {
      std::memcpy(at, &upper_, sizeof upper_);
      at += sizeof upper_;
    }
    if ((first_.form & has_value) != 0) std::memcpy(at, &value_, sizeof value_);
  }
  /// Reads a head into `into`; returns its bytes.
  static std::size_t read(std::byte const* at, request_head& into) noexcept {
    fixed first;
    std::memcpy(static_cast<void*>(&first), at, sizeof first);
    into = {.what = first.what,
            .element = first.element,
            .op = first.op,
            .body = first.body,
            .home = first.home,
            .offset = first.offset};
    at += sizeof first;
    if ((first.form & value_in_body) != 0) into.value = std::exchange(into.body, 0U);
    if ((first.form & has_upper) != 0) {
      halves upper;
      std::memcpy(&upper, at, sizeof upper);
      into.home |= std::uint64_t{upper.home} << 32U;
      into.offset |= std::uint64_t{upper.offset} << 32U;
      at += sizeof upper;
    }
    if ((first.form & has_value) != 0) std::memcpy(&into.value, at, sizeof into.value);
    return bytes(first.form);
  }

 private:
  static constexpr std::uint8_t has_upper = 1;
  static constexpr std::uint8_t has_value = 2;
  static constexpr std::uint8_t value_in_body = 4;

  struct fixed {
    action what{};
    element_kind element{};
    op_kind op{};
    std::uint8_t form = 0;
    std::uint32_t body = 0;
    std::uint32_t home = 0;
    std::uint32_t offset = 0;
  };
  struct halves {
    std::uint32_t home = 0;
    std::uint32_t offset = 0;
  };
  static_assert(std::has_unique_object_representations_v<fixed> && sizeof(fixed) == 16,
                "no undefined byte may be sent");

  static constexpr std::size_t bytes(std::uint8_t form) noexcept {
    return sizeof(fixed) + ((form & has_upper) != 0 ? sizeof(halves) : 0) +
           ((form & has_value) != 0 ? sizeof(std::uint64_t) : 0);
  }
  static constexpr std::uint8_t form_of(request_head const& head) noexcept {
    bool const is_long = (head.home | head.offset) >> 32U != 0;
    bool const is_short_value = head.body == 0 && head.value >> 32U == 0;
    return static_cast<std::uint8_t>((is_long ? has_upper : 0) | (head.value == 0  ? 0
                                                                  : is_short_value ? value_in_body
                                                                                   : has_value));
  }

  fixed first_;
  halves upper_;
  std::uint64_t value_;
};

/// The rows of a put_rows or get_rows in the receiver's part.
struct row_places {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t pitch = 0;
};

/// The head of a packet: requests follow it without gaps.
class packet_head {
 public:
  constexpr packet_head() noexcept = default;
  constexpr packet_head(std::uint64_t carried_out, std::size_t packet_length, bool wants_receipt) noexcept
      : all_(carried_out << number_at | std::uint64_t{packet_length} << 1U | (wants_receipt ? 1U : 0U)) {}

  /// The number of the receiver's packets that the sender has carried out.
  [[nodiscard]] constexpr std::uint64_t carried_out() const noexcept { return all_ >> number_at; }
  /// The bytes of the packet with this head. Asking MPI for them takes as long as carrying out a put.
  [[nodiscard]] constexpr std::size_t packet_length() const noexcept {
    return (all_ & ((std::uint64_t{1} << number_at) - 1)) >> 1U;
  }
  [[nodiscard]] constexpr bool wants_receipt() const noexcept { return (all_ & 1U) != 0; }

 private:
  static constexpr unsigned number_at = 16;

  std::uint64_t all_ = 0;
};

/// The longest packet. MPI sends a longer message in several steps, or first asks its receiver: the cells of
/// UCX below MPICH, 8256 bytes, also hold a head of 8 bytes.
inline constexpr std::size_t packet_bytes = 8248;
static_assert(packet_head(1, packet_bytes, true).packet_length() == packet_bytes);
/// The longest piece of a put.
inline constexpr std::size_t longest_put =
    packet_bytes - sizeof(packet_head) - packed_head::most_without_value;
/// The longest body of any request.
inline constexpr std::size_t longest_body =
    packet_bytes - sizeof(packet_head) - packed_head::most - sizeof(row_places);
/// The longest put or get that travels in packets. A longer one is a message of its own.
inline constexpr std::size_t longest_in_packets = 4 * longest_body;

/// An allocator of bytes that are about to be written: it does not initialize them.
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

/// Transfers or a question under way: they are over when none is open.
struct transfer {
  unsigned open = 0;
  std::uint64_t value = 0;  ///< the answer to a question
};

/// A question that a peer has not answered yet, and the place of its answer's bytes.
struct question {
  std::shared_ptr<transfer> of;
  std::byte* into = nullptr;
  std::size_t pitch = 0;
  row_shape shape = {};
};

/// The state that a rank keeps for each rank of another node that it has met. Packets have numbers from 1, in
/// each direction.
struct peer {
  explicit peer(rank_t number) : rank(number), next(sizeof(packet_head)) {}

  rank_t rank;  ///< its number in the job

  packet next;                         ///< the requests and answers of the next packet to it
  bool has_requests = false;           ///< in the next packet
  bool has_answers = false;            ///< in the next packet
  std::uint64_t sent = 0;              ///< the number of the last packet to it
  std::uint64_t last_request = 0;      ///< of the last packet to it with requests
  std::uint64_t last_letter = 0;       ///< of the last packet to it with a letter
  std::uint64_t last_word = 0;         ///< of the last packet to it that changes a word; 0: none that matters
  std::uint64_t last_unconfirmed = 0;  ///< of the last one whose change of a word no release waits for
  std::uint64_t asked = 0;             ///< of the last packet whose receipt was asked for
  std::uint64_t arrived = 0;  ///< of the last packet that it has carried out, as far as this rank knows
  std::deque<question> open;  ///< in order, and answered in order
  unsigned long_gets = 0;     ///< under way

  std::uint64_t carried_out = 0;  ///< the number of its packets that this rank has carried out
  bool is_stalled = false;        ///< a long put of it is arriving, and its later packets wait
  std::deque<packet> waiting;
  std::size_t position = 0;  ///< the bytes of the first waiting packet that have been carried out
};

}  // namespace PGAS_NAMESPACE::detail::cluster
