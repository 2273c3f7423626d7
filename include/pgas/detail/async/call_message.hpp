// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <pgas/detail/async/call_record.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// The exception of a called function, as it travels to the caller: a code and a text.
struct call_failure {
  errc code;
  std::string text;

  /// The failure in an exception: an error of the library keeps its code.
  [[nodiscard]] static call_failure of(std::exception_ptr const& why) {
    try {
      std::rethrow_exception(why);
    } catch (error const& e) {
      return {static_cast<errc>(e.code().value()), std::string(e.sentence())};
    } catch (std::exception const& e) {
      return {errc::call_failed, e.what()};
    } catch (...) {
      return {errc::call_failed, "an exception that has no text"};
    }
  }
};

/// The contents of a message: whole records, a piece of a call that is longer than a message, or a piece of a
/// long call for which the receiver has asked.
enum class call_message_kind : std::uint8_t { records, piece, landing };

/// The first word of a message: the room that it returns, and what follows.
struct call_message_head {
  std::array<std::uint32_t, 2> owed;  ///< words of room of each lane, less than 2^24
  bool is_full;                       ///< the sender's functions do not begin
  std::size_t lane;                   ///< of a piece
  call_message_kind kind;

  [[nodiscard]] word packed() const noexcept {
    return word{owed[0]} << 40U | word{owed[1]} << 16U | word{is_full} << 8U | word{lane} << 4U |
           static_cast<word>(kind);
  }
  static call_message_head of(word w) noexcept {
    return {{static_cast<std::uint32_t>(w >> 40U), static_cast<std::uint32_t>(w >> 16U & 0xffffffU)},
            (w >> 8U & 1U) != 0,
            w >> 4U & 1U,
            static_cast<call_message_kind>(w & 0xfU)};
  }
};

/// A message under construction: its words, and where they come from.
template <std::size_t Most>
struct call_message {
  std::array<word, Most + 1> text;
  std::size_t used = 1;  ///< words, with the head
  call_message_kind kind = call_message_kind::records;
  std::size_t lane = 0;
  std::size_t answers = 0;             ///< words of answers
  std::array<std::size_t, 2> calls{};  ///< words of whole calls of each lane
  std::size_t piece = 0;               ///< words of a long record

  void add(std::span<word const> words) noexcept {
    std::copy(words.begin(), words.end(), text.begin() + static_cast<std::ptrdiff_t>(used));
    used += words.size();
  }
  /// Adds whole records, of up to `most` words. Returns their words.
  std::size_t add_whole(call_queue const& from, std::size_t most) noexcept {
    most = std::min(most, text.size() - used);
    auto const rest = from.rest();
    std::size_t count = 0;
    while (count < rest.size()) {
      std::size_t const next = count + call_head::of(rest[count]).words;
      if (next > most) break;
      count = next;
    }
    add(rest.first(count));
    return count;
  }

  /// Adds the next piece of a record.
  void add_piece(std::span<word const> rest) noexcept {
    piece = std::min(rest.size(), Most);
    add(rest.first(piece));
  }
};

}  // namespace PGAS_NAMESPACE::detail
