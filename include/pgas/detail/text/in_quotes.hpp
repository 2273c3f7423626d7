// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Text that a user gave, with each control character as an escape: "\\n", "\\x1b". A terminal that shows the
/// text does what the characters say otherwise. Bytes of other characters in UTF-8 stay as they are.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
