// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <pgas/concepts/messenger.hpp>
#include <pgas/detail/messages/bounded_memory.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail::messages {

/// A doubly linked list through the members `before` and `after` of its elements. It allocates nothing.
template <class T>
class chain {
 public:
  [[nodiscard]] T* first() const noexcept { return first_; }
  void append(T& one) noexcept {
    one.before = last_;
    one.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &one;
    last_ = &one;
  }
  void remove(T& one) noexcept {
    (one.before != nullptr ? one.before->after : first_) = one.after;
    (one.after != nullptr ? one.after->before : last_) = one.before;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

/// The place for the bytes of one message that is on its way to this rank.
struct sink {
  bool is_record = false;
  std::byte* at = nullptr;
  std::size_t bytes = 0;  ///< of the message
  std::size_t moved = 0;  ///< that have come, or have left

  [[nodiscard]] bool is_full() const noexcept { return moved == bytes; }
};

/// A send or a receive.
struct request : sink {
  enum state_kind : std::uint8_t {
    unused,
    queued,   ///< a send that the receiver does not know, or has refused
    asked,    ///< a send whose answer is missing
    held,     ///< a send that will be cleared
    sending,  ///< a send whose bytes leave
    posted,   ///< a receive without a message
    filling,  ///< a receive whose bytes arrive
    done,
    too_long  ///< a receive whose message does not fit; the message stays
  };
  state_kind state = unused;
  bool is_ever_asked = false;
  bool owes_clear = false;   ///< a receive that has taken a held message
  std::uint8_t age = 0;      ///< of the last question
  std::uint16_t theirs = 0;  ///< of a receive that owes a clear: the sender's number
  std::uint32_t use = 0;
  rank_t peer = 0;  ///< of a receive also any_sender
  word tag = 0;
  word place = 0;  ///< of a send: where the receiver wants the bytes
  std::byte const* from = nullptr;
  std::size_t room = 0;  ///< of a receive
  arrived_message envelope;
  request* before = nullptr;
  request* after = nullptr;
};

/// A message that has come before its receive: the envelope, and its bytes unless they are held back.
struct record : sink {
  rank_t from = 0;
  word tag = 0;
  std::uint16_t theirs = 0;  ///< the sender's number of a held message
  bool is_held = false;
  bool is_credited = false;  ///< its memory goes back to its sender's credit
  request* taker = nullptr;  ///< the receive that gets it when all bytes have come
  record* before = nullptr;
  record* after = nullptr;

  static std::size_t cost(std::size_t payload) noexcept {
    return bounded_memory::rounded(sizeof(record) + payload);
  }
  /// Requires memory.has(cost(payload)).
  static record& make(bounded_memory& memory, std::size_t payload) {
    auto* const raw = static_cast<std::byte*>(memory.allocate(cost(payload), alignof(record)));
    auto* const one = new (raw) record;
    one->is_record = true;
    one->at = raw + sizeof(record);
    return *one;
  }
  void destroy(bounded_memory& memory) noexcept {
    std::size_t const size = cost(is_held ? 0 : bytes);
    this->~record();
    memory.deallocate(this, size, alignof(record));
  }
};

/// The pool of requests of one rank.
class request_pool {
 public:
  request_pool(bounded_memory& memory, std::size_t size) : all_(size, &memory) {
    for (request& one : all_) free_.append(one);
  }

  [[nodiscard]] bool has_free() const noexcept { return free_.first() != nullptr; }
  request& take() noexcept {
    request& one = *free_.first();
    free_.remove(one);
    std::uint32_t const use = one.use;
    one = request{};
    one.use = use;
    return one;
  }
  void give_back(request& one) noexcept {
    one.state = request::unused;
    ++one.use;
    free_.append(one);
  }
  [[nodiscard]] message_request name_of(request const& one) const noexcept {
    return {static_cast<std::uint32_t>(&one - all_.data()), one.use};
  }
  /// The request, or null if it has ended.
  [[nodiscard]] request* find(message_request name) noexcept {
    if (name.place >= all_.size() || all_[name.place].use != name.use) return nullptr;
    return all_[name.place].state != request::unused ? &all_[name.place] : nullptr;
  }
  [[nodiscard]] request& at(std::uint16_t place) noexcept { return all_[place]; }
  [[nodiscard]] std::pmr::vector<request>& all() noexcept { return all_; }

 private:
  std::pmr::vector<request> all_;
  chain<request> free_;
};

}  // namespace PGAS_NAMESPACE::detail::messages
