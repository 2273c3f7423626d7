// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A shelf of each rank in any segment: all ranks lay out pieces, meet, and fetch what is meant for them.
///
/// Two buffers are used in turn, so that one meeting a round is enough: a rank that lays out into a buffer
/// again has passed the meeting that the buffer's last readers reached after they had fetched.
///
/// Source    pulling from the sender's memory (Shahmirzadi 2014, section 2.4), with a meeting of all ranks in
///           place of flags.
/// Words     those of the links.
/// Memory    2 * buffer_bytes a rank.
template <control Control, segment Segment>
class shelf {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{16} << 10U;
  static constexpr std::size_t bytes(rank_t /*ranks*/) noexcept { return 2 * buffer_bytes; }

  shelf(links<Control, Segment>& of, std::size_t first_byte) : links_(&of), first_byte_(first_byte) {}

  [[nodiscard]] rank_t rank() const noexcept { return links_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return links_->size(); }
  void lie_on(Segment& memory) noexcept { memory_ = &memory; }

  /// Writes bytes into this round's buffer of this rank.
  void lay(std::size_t first, bytes_in from) {
    if (!from.empty()) memory_->put({rank(), place(first)}, from);
  }
  /// Ends when all ranks have laid out, and begins the fetches of this round.
  steps meet() {
    memory_->flush(rank());
    co_await links_->meet();
  }
  /// Reads bytes of this round's buffer of a rank; they are there after `settle`.
  void fetch(rank_t of, std::size_t first, bytes_out into) {
    if (!into.empty()) memory_->get({of, place(first)}, into);
  }
  /// Returns when all fetches are complete, and ends the round.
  void settle() {
    memory_->flush_local_all();
    ++round_;
  }

  void compare_blocks(rank_t other, std::size_t theirs, std::size_t mine) const {
    links_->compare_blocks(other, theirs, mine);
  }

  /// Replaces a number by the largest of all ranks.
  steps agree_on_largest(std::size_t& number) {
    for (unsigned k = 0; std::size_t{1} << k < static_cast<std::size_t>(size()); ++k) {
      std::size_t const mine = number;
      std::size_t other = 0;
      link const up{k, false};
      co_await links_->exchange(up, std::as_bytes(std::span(&mine, 1)), up,
                                std::as_writable_bytes(std::span(&other, 1)));
      number = std::max(number, other);
    }
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t first) const noexcept {
    return first_byte_ + round_ % 2 * buffer_bytes + first;
  }

  links<Control, Segment>* links_;
  std::size_t first_byte_;
  Segment* memory_ = nullptr;
  std::size_t round_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
