// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/channel.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A queue of messages of words, in one ring. The ring doubles when it is full, and never shrinks, so a queue
/// whose senders are bounded allocates no more after a while.
class message_queue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return first_ == end_; }
  /// The words of all messages, without their heads.
  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  /// The sender and the length of the first message. Requires one.
  [[nodiscard]] received front() const noexcept {
    word const head = at(first_);
    return {static_cast<rank_t>(head >> length_bits), static_cast<std::size_t>(head & longest)};
  }

  /// Appends a message.
  void push(rank_t from, std::span<word const> message) {
    while (ring_.size() - (end_ - first_) < message.size() + 1) grow();
    at(end_++) = static_cast<word>(from) << length_bits | message.size();
    for (word const w : message) at(end_++) = w;
    words_ += message.size();
  }
  /// Removes the first message and writes its words to the front of `into`. Requires room for all of them.
  received pop(std::span<word> into) noexcept {
    received const first = front();
    ++first_;
    for (std::size_t i = 0; i < first.words; ++i) into[i] = at(first_++);
    words_ -= first.words;
    return first;
  }

 private:
  static constexpr unsigned length_bits = 32;
  static constexpr word longest = (word{1} << length_bits) - 1;

  [[nodiscard]] word& at(std::size_t i) noexcept { return ring_[i & (ring_.size() - 1)]; }
  [[nodiscard]] word at(std::size_t i) const noexcept { return ring_[i & (ring_.size() - 1)]; }
  void grow() {
    std::vector<word> larger(2 * ring_.size());
    for (std::size_t i = first_; i != end_; ++i) larger[i & (larger.size() - 1)] = at(i);
    ring_.swap(larger);
  }

  std::vector<word> ring_ = std::vector<word>(32);  ///< its size is a power of two
  std::size_t first_ = 0;                           ///< counts the words that have left
  std::size_t end_ = 0;                             ///< counts the words that have come
  std::size_t words_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
