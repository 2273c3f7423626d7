// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file.hpp"

namespace example {

/// At most `most` different lines of a file. Throws std::runtime_error if it cannot be read or has none, or
/// is no list of words: with a line of more than 1000 bytes, or of more than 256 MiB before the last word.
inline std::vector<std::string> read_words(std::string const& path, std::size_t most) {
  constexpr std::size_t longest = 1000;
  constexpr std::size_t limit = std::size_t{256} << 20U;
  std::ifstream file(path);
  if (!file)
    cannot_read(path, "there is no such file; give a file with a word on each line, or install wamerican");
  std::vector<std::string> words;
  std::set<std::string> known;
  std::string line(longest + 1, '\0');
  for (std::size_t bytes = 0; words.size() < most && file.getline(line.data(), longest + 1);) {
    std::string word(line.c_str());
    bytes += static_cast<std::size_t>(file.gcount());
    if (bytes > limit)
      cannot_read(path, "the first " + std::to_string(limit) + " bytes have only " +
                            std::to_string(words.size()) + " different words; ask for fewer");
    if (!word.empty() && known.insert(word).second) words.push_back(std::move(word));
  }
  if (file.bad()) cannot_read(path, "it is a folder, or its device fails");
  if (file.fail() && !file.eof())
    cannot_read(path, "a line has more than " + std::to_string(longest) +
                          " bytes; give a file with a word on each line");
  if (words.empty()) cannot_read(path, "there is no word in it");
  return words;
}

/// 64 bits that identify a word in most cases, never 0: FNV-1a with its bits mixed.
inline std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash = (hash ^ (hash >> 32U)) * 0x9e3779b97f4a7c15U;
  return hash == 0 ? 1 : hash;
}

}  // namespace example
