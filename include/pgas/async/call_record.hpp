// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The kinds of records that calls consist of.
enum class call_kind : std::uint8_t {
  send,     ///< arguments follow; nobody waits for an answer
  call,     ///< the caller's number of the call, and arguments
  offer,    ///< the words of a long call that its sender keeps until the receiver asks for it
  clear,    ///< the receiver asks for the first long call
  answer,   ///< the number of the call, and a part of its value
  failure,  ///< the number of the call, the length of a text, and a part of it
};

/// The first word of a record: its kind, its length, and a number. The number is a function's, or the place
/// of a part.
struct call_head {
  call_kind kind;
  std::uint32_t words;   ///< of the whole record
  std::uint32_t number;  ///< less than 2^24

  [[nodiscard]] word packed() const noexcept {
    return word{words} << 32U | word{number} << 8U | static_cast<word>(kind);
  }
  static call_head of(word w) noexcept {
    return {static_cast<call_kind>(w & 0xffU), static_cast<std::uint32_t>(w >> 32U),
            static_cast<std::uint32_t>(w >> 8U & 0xffffffU)};
  }
};

/// Records in the order of their arrival, each in one piece.
class call_queue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return first_ == words_.size(); }
  /// The words of all records.
  [[nodiscard]] std::size_t size() const noexcept { return words_.size() - first_; }
  /// The first record, and all after it. The next call of `extend` or `drop` moves them.
  [[nodiscard]] std::span<word const> rest() const noexcept { return std::span(words_).subspan(first_); }
  [[nodiscard]] std::span<word const> front() const noexcept {
    return rest().first(call_head::of(words_[first_]).words);
  }

  /// Makes room for a record behind the last one, and returns it.
  [[nodiscard]] std::span<word> extend(std::size_t count) {
    if (is_empty()) {
      words_.clear();
      first_ = 0;
    } else if (first_ >= 512 && first_ * 2 >= words_.size()) {
      words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    words_.resize(words_.size() + count);
    return std::span(words_).last(count);
  }
  void push(std::span<word const> record) {
    auto const room = extend(record.size());
    std::copy(record.begin(), record.end(), room.begin());
  }
  /// Removes words from the front.
  void drop(std::size_t count) noexcept { first_ += count; }

 private:
  std::vector<word> words_;
  std::size_t first_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
