// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/elements/element_request.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/op.hpp>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
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

/// The name of a team's memory: the reserving rank in the high bits, and a number that is unique at that
/// rank.
using memory_id = std::uint64_t;
inline constexpr int home_shift = 40;
inline rank_t home_of(memory_id id) noexcept { return static_cast<rank_t>(id >> home_shift); }

/// One rank's part of a segment: zeroed memory, or memory that the rank already has.
class part {
 public:
  explicit part(std::size_t bytes) : lines_(bytes / sizeof(line) + 1), all_(lines_.front().bytes, bytes) {}
  explicit part(std::span<std::byte> given) noexcept : all_(given) {}
  part(part const&) = delete;
  part& operator=(part const&) = delete;
  [[nodiscard]] std::byte* data() noexcept { return all_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  struct alignas(part_alignment) line {
    std::byte bytes[part_alignment];
  };
  std::vector<line> lines_;
  std::span<std::byte> all_;
};

/// One rank's share of control words. Its rank and its agent both access them, always atomically.
class word_block {
 public:
  explicit word_block(std::size_t words) : words_(words) {}
  [[nodiscard]] std::atomic<word>& at(std::size_t i) noexcept { return words_[i].value; }
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }

 private:
  struct alignas(64) padded {
    std::atomic<word> value{0};
  };
  std::vector<padded> words_;
};

/// One rank's end of a mailbox: the letters of each sender, and the room that is left at each receiver.
class letter_box {
 public:
  static constexpr std::size_t capacity = 16;

  explicit letter_box(std::size_t ranks) : letters_(ranks), room_(ranks, capacity) {}

  [[nodiscard]] bool take_room(std::size_t to) {
    std::lock_guard const hold(lock_);
    if (room_[to] == 0) return false;
    --room_[to];
    return true;
  }
  void add_room(std::size_t to, std::size_t letters) {
    std::lock_guard const hold(lock_);
    if (to < room_.size()) room_[to] += letters;
  }
  void add(std::size_t from, bytes_in letter) {
    std::lock_guard const hold(lock_);
    if (from < letters_.size()) letters_[from].emplace_back(letter.begin(), letter.end());
  }
  [[nodiscard]] std::size_t count(std::size_t from) {
    std::lock_guard const hold(lock_);
    return letters_[from].size();
  }
  [[nodiscard]] std::vector<std::byte> take(std::size_t from) {
    std::lock_guard const hold(lock_);
    auto letter = std::move(letters_[from].front());
    letters_[from].pop_front();
    return letter;
  }

 private:
  std::mutex lock_;  ///< held briefly, by the rank and by its agent
  std::vector<std::deque<std::vector<std::byte>>> letters_;
  std::vector<std::size_t> room_;
};

/// The memory that one rank has attached and that its agent serves.
///
/// Memory stays while any rank of its team holds it, since a slow rank may still load a word of a rank that
/// has gone on. The reserving rank counts the releases, and tells all ranks after the last one. The rank and
/// its agent share the directory. An object that a caller has found stays alive while the caller uses it.
class directory {
 public:
  template <class Memory>
  void attach(memory_id id, std::shared_ptr<Memory> memory) {
    std::lock_guard const hold(lock_);
    attached_.insert_or_assign(id, std::move(memory));
  }

  /// Returns the memory of this type under this handle, or null.
  template <class Memory>
  [[nodiscard]] std::shared_ptr<Memory> find(memory_id id) const {
    std::lock_guard const hold(lock_);
    auto const it = attached_.find(id);
    if (it == attached_.end()) return nullptr;
    auto const* const found = std::get_if<std::shared_ptr<Memory>>(&it->second);
    return found != nullptr ? *found : nullptr;
  }

  void forget(memory_id id) {
    any_memory last;  // freed after the lock
    std::lock_guard const hold(lock_);
    if (auto const it = attached_.find(id); it != attached_.end()) {
      last = std::move(it->second);
      attached_.erase(it);
    }
  }

  /// Records that this rank has reserved memory for these ranks of the job.
  void reserve(memory_id id, std::vector<rank_t> holders) {
    std::lock_guard const hold(lock_);
    auto const count = holders.size();
    reserved_.insert_or_assign(id, reservation{std::move(holders), count});
  }

  /// Records that one holder has released memory that this rank reserved. Returns all holders if it was the
  /// last.
  [[nodiscard]] std::vector<rank_t> release(memory_id id) {
    std::lock_guard const hold(lock_);
    auto const it = reserved_.find(id);
    if (it == reserved_.end() || --it->second.left != 0) return {};
    auto holders = std::move(it->second.holders);
    reserved_.erase(it);
    return holders;
  }

 private:
  using any_memory =
      std::variant<std::shared_ptr<part>, std::shared_ptr<word_block>, std::shared_ptr<letter_box>>;
  struct reservation {
    std::vector<rank_t> holders;
    std::size_t left;
  };

  mutable std::mutex lock_;  ///< held for look-ups only, so an agent never waits for long
  std::unordered_map<memory_id, any_memory> attached_;
  std::unordered_map<memory_id, reservation> reserved_;
};

/// Carries out other ranks' requests on one rank's memory. Only the rank's agent calls it. It passes each
/// sender's messages in the order in which they were sent.
///
/// No message makes the server fail. It refuses a request that names no memory or reaches past its end. The
/// refusal is in the answer or, for a one-way message, in the answer to the sender's next flush of that
/// memory.
class server {
 public:
  explicit server(directory& memory) : memory_(&memory) {}

  /// Carries out a message and returns its answer, if it has one.
  [[nodiscard]] std::optional<packet> serve(rank_t from, message const& m, bytes_in body) {
    switch (m.kind) {
      case message_kind::put:
        if (outcome const result = put(m, body); result != outcome::done) refused_[{from, m.memory}] = result;
        return std::nullopt;
      case message_kind::get:
        return get(m);
      case message_kind::part_size: {
        auto const found = memory_->find<part>(m.memory);
        return found ? answer(m, outcome::done, found->size()) : answer(m, outcome::unknown_memory);
      }
      case message_kind::flush: {
        auto const refusal = refused_.extract(std::pair(from, m.memory));
        return answer(m, refusal.empty() ? outcome::done : refusal.mapped());
      }
      case message_kind::element_modify:
      case message_kind::element_compare:
      case message_kind::element_load:
      case message_kind::element_store:
        return on_element(m);
      case message_kind::word_load:
      case message_kind::word_store:
      case message_kind::word_fetch_add:
      case message_kind::word_fetch_xor:
      case message_kind::word_exchange:
      case message_kind::word_compare:
        return on_word(m);
      case message_kind::letter:
        if (auto const box = memory_->find<letter_box>(m.memory))
          box->add(static_cast<std::size_t>(m.sender), body);
        return std::nullopt;
      case message_kind::credit:
        if (auto const box = memory_->find<letter_box>(m.memory)) {
          box->add_room(static_cast<std::size_t>(m.sender), m.value);
        }
        return std::nullopt;
      case message_kind::forget:
        memory_->forget(m.memory);
        return std::nullopt;
      case message_kind::release:  // handled by the agent
      case message_kind::answer:
        break;
    }
    return std::nullopt;
  }

 private:
  static element_request request_of(message const& m) noexcept {
    constexpr auto action = [](message_kind kind) {
      switch (kind) {
        case message_kind::element_load:
          return element_action::load;
        case message_kind::element_store:
          return element_action::store;
        case message_kind::element_compare:
          return element_action::compare;
        default:
          return element_action::modify;
      }
    };
    return {action(m.kind), m.element, m.op, m.value, m.expected};
  }

  static message answer_head(message const& question, outcome result, std::uint64_t value = 0) noexcept {
    message a;
    a.kind = message_kind::answer;
    a.ticket = question.ticket;
    a.number = question.number;
    a.result = result;
    a.value = value;
    return a;
  }
  static packet answer(message const& question, outcome result, std::uint64_t value = 0) {
    return pack(answer_head(question, result, value));
  }

  /// True if the rows of a message lie within `size` bytes.
  static bool rows_fit(message const& m, std::size_t size) noexcept {
    if (m.rows == 0 || m.row_bytes == 0) return m.offset <= size;
    if (!fits(m.offset, m.row_bytes, size)) return false;
    std::size_t const left = size - m.offset - m.row_bytes;
    return m.rows == 1 || (m.pitch != 0 ? m.rows - 1 <= left / m.pitch : m.rows <= size / m.row_bytes);
  }

  outcome put(message const& m, bytes_in body) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return outcome::unknown_memory;
    if (!rows_fit(m, found->size()) || m.rows * m.row_bytes != body.size()) return outcome::out_of_range;
    copy_rows(found->data() + m.offset, m.pitch, body.data(), m.row_bytes, {m.rows, m.row_bytes});
    return outcome::done;
  }

  [[nodiscard]] packet get(message const& m) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    if (!rows_fit(m, found->size())) return answer(m, outcome::out_of_range);
    return pack(answer_head(m, outcome::done), found->data() + m.offset, m.pitch, {m.rows, m.row_bytes});
  }

  [[nodiscard]] packet on_element(message const& m) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    std::size_t const bytes = element_bytes(m.element);
    if (m.offset % bytes != 0 || !fits(m.offset, bytes, found->size()))
      return answer(m, outcome::out_of_range);
    auto const value = carry_out(request_of(m), found->data() + m.offset);
    return value ? answer(m, outcome::done, *value) : answer(m, outcome::unsupported);
  }

  // seq_cst: as strong as any order that the asking rank requested. Pairs with the owner's own accesses to
  // the word.
  [[nodiscard]] packet on_word(message const& m) const {
    auto const found = memory_->find<word_block>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    if (m.offset >= found->size()) return answer(m, outcome::out_of_range);
    std::atomic<word>& w = found->at(m.offset);
    switch (m.kind) {
      case message_kind::word_load:
        return answer(m, outcome::done, w.load());
      case message_kind::word_store:
        w.store(m.value);
        return answer(m, outcome::done);
      case message_kind::word_fetch_add:
        return answer(m, outcome::done, w.fetch_add(m.value));
      case message_kind::word_fetch_xor:
        return answer(m, outcome::done, w.fetch_xor(m.value));
      case message_kind::word_exchange:
        return answer(m, outcome::done, w.exchange(m.value));
      default: {  // word_compare
        word found_there = m.expected;
        w.compare_exchange_strong(found_there, m.value);
        return answer(m, outcome::done, found_there);
      }
    }
  }

  directory* memory_;
  std::map<std::pair<rank_t, memory_id>, outcome>
      refused_;  ///< refused puts, until their sender's next flush
};

}  // namespace PGAS_NAMESPACE::detail::loopback
