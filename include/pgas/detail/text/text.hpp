// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

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

/// A number of elements, an index or a distance as the caller gave it. One that exceeds all memory was
/// negative before its conversion to std::size_t: -1 reads "-1".
inline text_piece as_given(std::size_t number) noexcept { return static_cast<long long>(number); }
/// Returns whether a number was negative before its conversion to std::size_t.
constexpr bool is_negative(std::size_t number) noexcept { return static_cast<long long>(number) < 0; }

/// Appends texts and numbers to a message.
[[gnu::noinline]] inline void append_text(std::string& all, std::initializer_list<text_piece> pieces) {
  for (text_piece const& piece : pieces) piece.append_to(all);
}

/// Joins texts and numbers: text_of({"rank ", rank, " left"}). A chain of `+` would compile to a temporary
/// string, and the code that destroys it, per operand.
[[gnu::noinline]] inline std::string text_of(std::initializer_list<text_piece> pieces) {
  std::string all;
  append_text(all, pieces);
  return all;
}

/// Copies as much of a text as fits into an array of characters, which can travel between ranks.
template <std::size_t Size>
void copy_text(std::array<char, Size>& to, std::string_view from) noexcept {
  std::memcpy(to.data(), from.data(), std::min(from.size(), Size - 1));
}

/// Text that a user gave, with each control character as an escape: "\\n", "\\x1b". Otherwise a terminal that
/// shows the text would act on them. Other characters in UTF-8 stay as they are.
inline std::string escaped(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const byte = static_cast<unsigned char>(text[i]);
    auto const next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    bool const is_c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F, as ESC and a letter
    if (byte >= 0x20 && byte != 0x7f && !is_c1) {
      shown += text[i];
    } else if (byte == '\n') {
      shown += "\\n";
    } else if (byte == '\t') {
      shown += "\\t";
    } else {
      constexpr char digits[] = "0123456789abcdef";
      unsigned const code = is_c1 ? next : byte;
      shown.append("\\x").append(1, digits[code / 16]).append(1, digits[code % 16]);
      if (is_c1) ++i;
    }
  }
  return shown;
}

/// Text that a user gave, for a message: escaped, in quotation marks, and its first 500 bytes if it is
/// longer.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 500;
  std::string shown("'");
  shown.append(escaped(text.substr(0, most))).append(text.size() > most ? "...'" : "'");
  return shown;
}

/// A text that differs between any two lists of types, template parameters included. All processes of one
/// program have the same text.
template <class... Types>
constexpr std::string_view type_names() noexcept {
  return static_cast<char const*>(__PRETTY_FUNCTION__);
}

/// The 64-bit FNV-1a hash of that text, for messages that have no room for the text.
template <class... Types>
constexpr std::uint64_t type_hash() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const c : type_names<Types...>()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace PGAS_NAMESPACE::detail
