// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace example {

/// At most `most` different lines of a file. Throws std::runtime_error if it cannot be read or has none.
inline std::vector<std::string> read_words(std::string const& path, std::size_t most) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(path +
                             ": cannot be read; give a file with a word on each line, or install wamerican");
  std::vector<std::string> words;
  std::set<std::string> known;
  for (std::string line; words.size() < most && std::getline(file, line);) {
    if (!line.empty() && known.insert(line).second) words.push_back(line);
  }
  if (words.empty()) throw std::runtime_error(path + ": there is no word in it");
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
