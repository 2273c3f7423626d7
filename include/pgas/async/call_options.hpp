// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/platform/setting.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The choices of a program about the calls of a team; the same on all ranks.
struct call_options {
  /// The bytes of a rank for calls under way; 0 takes the variable PGAS_MESSAGE_BYTES, or else 4 MiB.
  std::size_t message_bytes = 0;
  /// The longest call that is sent before its receiver has asked for it; 0 lets the library choose.
  std::size_t eager_bytes = 0;
  /// Functions start at a rank in the order in which one caller has called them. Without order, a short call
  /// may overtake a long one of the same caller.
  bool ordered = true;
};

namespace detail {

/// The shares of a rank's message memory, in words.
///
/// A quarter holds calls that have arrived and wait, the same for each sender. A quarter holds one long call
/// that arrives in pieces. Half of it holds what this rank has started: its program uses the first quarter
/// of the memory, and functions may use both.
struct call_shares {
  static constexpr std::size_t usual_bytes = std::size_t{4} << 20U;
  static constexpr std::size_t least_room = 32;  ///< words of a sender at a receiver
  static constexpr std::size_t usual_eager = 512;
  static constexpr std::size_t most_words = std::size_t{1} << 24U;  ///< of a call: a head counts as many

  call_shares(call_options const& given, rank_t ranks)
      : all((given.message_bytes != 0 ? given.message_bytes : bytes_of_environment()) / sizeof(word_type)),
        room(all / 4 / static_cast<std::size_t>(ranks)),
        longest(std::min(all / 4, most_words - 1)),
        eager(std::min({room / 2, longest,
                        given.eager_bytes != 0 ? given.eager_bytes / sizeof(word_type) : usual_eager})) {}

  /// The fewest bytes with which so many ranks can call each other.
  static std::size_t least_bytes(rank_t ranks) noexcept {
    return least_room * 4 * static_cast<std::size_t>(ranks) * sizeof(word_type);
  }

  using word_type = std::uint64_t;
  std::size_t all;
  std::size_t room;     ///< of each sender for calls that wait at this rank
  std::size_t longest;  ///< the longest call, and the room where it lands
  std::size_t eager;    ///< the longest call that is sent at once

  [[nodiscard]] std::size_t of_program() const noexcept { return all / 4; }
  [[nodiscard]] std::size_t of_functions() const noexcept { return all / 2 - longest_answer(); }
  /// What remains for the answer of a function, so that functions can always begin.
  [[nodiscard]] std::size_t longest_answer() const noexcept { return all / 16; }
  [[nodiscard]] std::size_t of_answers() const noexcept { return all / 2; }
  /// What this rank may have started while it begins functions.
  [[nodiscard]] std::size_t soft() const noexcept { return all / 8 * 3; }

 private:
  static std::size_t bytes_of_environment() {
    auto const given = setting::variable("PGAS_MESSAGE_BYTES");
    return given.given() ? given.whole("a number of bytes", 1024, std::uint64_t{1} << 40U) : usual_bytes;
  }
};

}  // namespace detail
}  // namespace pgas::inline PGAS_ASSERTIONS
