// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/process/setting.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// The choices of a program about the calls of a team; the same on all ranks.
struct call_options {
  /// The bytes of a rank for calls under way; 0: the variable PGAS_MESSAGE_BYTES, or else 4 MiB.
  std::size_t message_bytes = 0;
  /// The longest call that is sent before its receiver has asked for it; 0 lets the library choose.
  std::size_t eager_bytes = 0;
  /// Functions start at a rank in the order in which the program of another rank has called them. Without
  /// this order, a short call may overtake a long one. Calls of functions keep their order only at one depth.
  bool ordered = true;
};

namespace detail {

/// The shares of a rank's message memory, in words. There are two lanes: calls of programs, and of functions.
///
/// A quarter holds calls that have arrived and wait, the same for each sender and lane. A quarter holds a
/// long call of each lane that arrives in pieces. Half of it holds calls that this rank has started: its
/// program uses the first quarter of the memory, and functions may use both.
struct call_shares {
  static constexpr std::size_t usual_bytes = std::size_t{4} << 20U;
  static constexpr std::size_t least_room = 32;  ///< words of a sender and lane at a receiver
  static constexpr std::size_t usual_eager = 512;
  static constexpr std::size_t most_words = (std::size_t{1} << 23U) - 1;  ///< which a head can count

  call_shares(call_options const& given, rank_t ranks)
      : all((given.message_bytes != 0 ? given.message_bytes : bytes_of_environment()) / sizeof(word_type)),
        room(std::min(all / 8 / static_cast<std::size_t>(ranks), most_words)),
        longest(std::min(all / 8, most_words)),
        eager(std::min({room / 2, longest,
                        given.eager_bytes != 0 ? given.eager_bytes / sizeof(word_type) : usual_eager})) {}

  /// The fewest bytes with which so many ranks can call each other.
  static std::size_t least_bytes(rank_t ranks) noexcept {
    return least_room * 8 * static_cast<std::size_t>(ranks) * sizeof(word_type);
  }

  using word_type = std::uint64_t;
  std::size_t all;
  std::size_t room;     ///< of each sender and lane for calls that wait at this rank
  std::size_t longest;  ///< the longest call, and the room for it at its receiver
  std::size_t eager;    ///< the longest call that is sent at once

  [[nodiscard]] std::size_t of_program() const noexcept { return all / 4; }
  [[nodiscard]] std::size_t of_functions() const noexcept { return all / 2 - longest_answer(); }
  /// The rest, for the answer of a function, so that functions can always begin.
  [[nodiscard]] std::size_t longest_answer() const noexcept { return all / 16; }
  [[nodiscard]] std::size_t of_answers() const noexcept { return all / 2; }
  /// The words of calls that functions may have under way while another call of a function begins, and while
  /// one of a program does.
  [[nodiscard]] std::size_t high() const noexcept { return all / 16; }
  [[nodiscard]] std::size_t low() const noexcept { return all / 64; }

 private:
  static std::size_t bytes_of_environment() {
    auto const given = setting::variable("PGAS_MESSAGE_BYTES");
    return given.given() ? given.whole("a number of bytes", 1024, std::uint64_t{1} << 40U) : usual_bytes;
  }
};

}  // namespace detail
}  // namespace PGAS_NAMESPACE
