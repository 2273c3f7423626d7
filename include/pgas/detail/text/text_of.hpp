// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A part of a message: text that outlives the call, or a whole number.
class text_piece {
 public:
  text_piece(std::string_view text) noexcept : text_(text.data()), value_(text.size()) {}
  text_piece(std::string const& text) noexcept : text_(text.data()), value_(text.size()) {}
  text_piece(char const* text) noexcept : text_piece(std::string_view(text)) {}
  text_piece(int number) noexcept : text_piece(static_cast<long long>(number)) {}
  text_piece(long number) noexcept : text_piece(static_cast<long long>(number)) {}
  text_piece(long long number) noexcept
      : value_(static_cast<std::uint64_t>(number)), is_(number < 0 ? kind::negative : kind::natural) {}
  text_piece(unsigned number) noexcept : value_(number), is_(kind::natural) {}
  text_piece(unsigned long number) noexcept : value_(number), is_(kind::natural) {}
  text_piece(unsigned long long number) noexcept : value_(number), is_(kind::natural) {}

  void append_to(std::string& all) const {
    if (is_ == kind::text) {
      all.append(text_, static_cast<std::size_t>(value_));
    } else if (is_ == kind::negative) {
      all.append(std::to_string(static_cast<std::int64_t>(value_)));
    } else {
      all.append(std::to_string(value_));
    }
  }

 private:
  enum class kind : unsigned char { text, natural, negative };

  char const* text_ = nullptr;
  std::uint64_t value_;  ///< the number, or the length of the text
  kind is_ = kind::text;
};

/// A number of elements, an index or a distance as its caller gave it. One beyond all memory was negative
/// before its conversion to std::size_t: -1 reads "-1".
inline text_piece as_given(std::size_t number) noexcept { return static_cast<long long>(number); }
/// Returns whether a number was negative before its conversion to std::size_t.
constexpr bool is_negative(std::size_t number) noexcept { return static_cast<long long>(number) < 0; }

/// Appends texts and numbers to a message.
[[gnu::noinline]] inline void append_text(std::string& all, std::initializer_list<text_piece> pieces) {
  for (text_piece const& piece : pieces) piece.append_to(all);
}

/// Joins texts and numbers: text_of({"rank ", rank, " left"}). A chain of `+` would compile to a temporary
/// string, and the code that destroys it, for each of its links.
[[gnu::noinline]] inline std::string text_of(std::initializer_list<text_piece> pieces) {
  std::string all;
  append_text(all, pieces);
  return all;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
