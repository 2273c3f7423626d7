// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The kinds of records that calls consist of.
enum class call_kind : std::uint8_t {
  send,     ///< arguments follow; nobody waits for an answer
  call,     ///< the caller's number of the call, and arguments
  offer,    ///< the ticket of a long call that its sender keeps until the receiver asks for it; its place
  clear,    ///< the ticket of the long call for which the receiver asks
  taken,    ///< the ticket of the long call that the receiver has copied from its place
  answer,   ///< the number of the call, and a part of its value
  failure,  ///< the number of the call, the length of a text, and a part of it
};

/// The first word of a record: its kind and its length; the depth of a call; and a number, which is that of a
/// function, or the place of a part. If the function is not in the table of the calls, the number is the
/// length of its answer; the key of its table and its number there precede the arguments.
struct call_head {
  /// The depth that stands for all deeper calls, too.
  static constexpr std::uint32_t deepest = 63;

  call_kind kind;
  std::uint32_t words;        ///< of the whole record, less than 2^24
  std::uint32_t number;       ///< less than 2^24
  std::uint32_t depth = 0;    ///< 0: the program has called; else one more than the function that has called
  bool is_elsewhere = false;  ///< the function is in another table

  /// The place of the key of the other table, or else of the arguments.
  [[nodiscard]] std::size_t begin() const noexcept { return kind == call_kind::call ? 2 : 1; }
  /// The place of the arguments in a record of a call.
  [[nodiscard]] std::size_t arguments() const noexcept { return begin() + (is_elsewhere ? 2U : 0U); }

  [[nodiscard]] word packed() const noexcept {
    return word{words} << 40U | word{number} << 16U | word{is_elsewhere} << 15U | word{depth} << 8U |
           static_cast<word>(kind);
  }
  static call_head of(word w) noexcept {
    return {static_cast<call_kind>(w & 0xffU), static_cast<std::uint32_t>(w >> 40U),
            static_cast<std::uint32_t>(w >> 16U & 0xffffffU), static_cast<std::uint32_t>(w >> 8U & 0x7fU),
            (w >> 15U & 1U) != 0};
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

/// Records of calls, the deepest first, and those of one depth in the order of their arrival. So a tree of
/// calls is walked in depth, which bounds the memory by its depth and not its breadth.
class call_stack {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return words_ == 0; }
  /// The words of all records.
  [[nodiscard]] std::size_t size() const noexcept { return words_; }
  /// The queue of the deepest records. Requires one.
  [[nodiscard]] call_queue const& first() noexcept {
    while (depths_[top_].is_empty()) --top_;
    return depths_[top_];
  }
  /// Begins to send the first record in pieces; later ones may be deeper.
  void begin() noexcept { begun_ = top_; }
  /// The queue whose first record is sent in pieces.
  [[nodiscard]] call_queue const& begun() const noexcept { return depths_[begun_]; }
  void drop_begun() noexcept {
    std::size_t const count = begun().front().size();
    words_ -= count;
    depths_[begun_].drop(count);
  }

  [[nodiscard]] std::span<word> extend(std::uint32_t depth, std::size_t count) {
    if (depth >= depths_.size()) depths_.resize(depth + 1);
    top_ = std::max(top_, std::size_t{depth});
    words_ += count;
    return depths_[depth].extend(count);
  }
  /// Removes words from the queue that `first` has returned, before further records arrive.
  void drop(std::size_t count) noexcept {
    words_ -= count;
    if (count != 0) depths_[top_].drop(count);
  }

 private:
  std::vector<call_queue> depths_;
  std::size_t top_ = 0;  ///< no depth beyond it has a record
  std::size_t begun_ = 0;
  std::size_t words_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
