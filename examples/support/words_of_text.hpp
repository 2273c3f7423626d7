// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace example {

/// Returns whether a byte is part of a word: a letter, a byte of a letter that ASCII lacks, or an apostrophe.
constexpr bool is_in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80 ||
         c == '\'';
}

/// Calls use(word) for each word that begins in bytes [first, end) of a text, in lower case and without
/// apostrophes at its ends. Texts that are cut anywhere have the same words altogether.
template <class Use>
void for_each_word(std::string_view text, std::size_t first, std::size_t end, Use&& use) {
  std::string word;
  std::size_t i = first;
  while (i > 0 && i < end && is_in_word(text[i - 1]) && is_in_word(text[i])) ++i;  // the word before
  while (i < end) {
    for (; i < end && (!is_in_word(text[i]) || text[i] == '\''); ++i) {}
    if (i == end) return;
    word.clear();
    for (; i < text.size() && is_in_word(text[i]); ++i) {
      char const c = text[i];
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    while (!word.empty() && word.back() == '\'') word.pop_back();
    use(std::string_view(word));
  }
}

}  // namespace example
