// SPDX-License-Identifier: BSL-1.0
// word_count: all ranks count the words of a text in one map. word_count BOOK.txt [HOW_MANY_TO_PRINT]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <pgas/containers/buffered_updates.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/pgas.hpp>
#include <pgas/vocabulary/bounded_string.hpp>
#include <stdexcept>
#include <string>
#include <support/backends.hpp>
#include <unordered_map>
#include <vector>

#include "support/arguments.hpp"
#include "support/file.hpp"
#include "support/words_of_text.hpp"

using word = pgas::bounded_string<47>;  // of a longer one, its beginning
using count = std::pair<word, std::uint64_t>;

bool is_commoner(count const& a, count const& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

/// The commonest words of all ranks. The commonest of each rank's part are enough to know them.
template <class Team, class Map>
std::vector<count> commonest(Team& team, Map const& map, std::size_t how_many) {
  std::vector<count> own;
  map.for_each_own([&](word const& w, std::uint64_t n) { own.emplace_back(w, n); });
  std::sort(own.begin(), own.end(), is_commoner);
  struct entry {
    word text;
    std::uint64_t times = 0;
  };
  std::vector<entry> mine(how_many);
  for (std::size_t i = 0; i < std::min(how_many, own.size()); ++i) mine[i] = {own[i].first, own[i].second};
  std::vector<entry> all(how_many * static_cast<std::size_t>(team.size()));
  team.all_gather(std::span<entry const>(mine), std::span(all));
  std::vector<count> result;
  for (entry const& e : all) {
    if (e.times != 0) result.emplace_back(e.text, e.times);
  }
  std::sort(result.begin(), result.end(), is_commoner);
  result.resize(std::min(how_many, result.size()));
  return result;
}

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty() || arguments.size() > 2)
      throw std::runtime_error("usage: word_count BOOK.txt [HOW_MANY_TO_PRINT]");
    std::size_t const how_many = example::number(arguments, 1, 10);
    std::string const text = example::read_file(std::string(arguments[0]), std::size_t{1} << 30U);
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const self = static_cast<std::size_t>(team.rank());

    // A text of n bytes has at most n / 2 + 1 words, and most texts have far fewer different ones.
    std::size_t const capacity = std::min<std::size_t>(text.size() / 2 + 1, 1000 + text.size() / 16 / ranks);
    auto map = pgas::make_map<word, std::uint64_t, pgas::counting>(team, {.capacity = capacity});
    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    {
      auto counts = pgas::buffered(map);  // a frequent word costs one access for many of its places
      example::for_each_word(text, text.size() * self / ranks, text.size() * (self + 1) / ranks,
                             [&](std::string_view w) { counts.add(word::beginning_of(w), 1); });
      counts.flush();
    }
    std::size_t const different = map.size();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;
    auto const most = commonest(team, map, how_many);

    // Rank 0 counts alone, and looks up each of its words.
    if (team.rank() == 0) {
      std::unordered_map<word, std::uint64_t> serial;
      std::uint64_t words = 0;
      example::for_each_word(text, 0, text.size(),
                             [&](std::string_view w) { ++serial[word::beginning_of(w)], ++words; });
      std::size_t wrong = serial.size() == different ? 0 : 1;
      for (auto const& [w, n] : serial) wrong += map.lookup(w) != n ? 1U : 0U;
      std::fprintf(stderr, "word_count: %.6f s\n", passed.count());
      for (auto const& [w, n] : most)
        std::printf("%8llu %.*s\n", static_cast<unsigned long long>(n), static_cast<int>(w.size()),
                    w.view().data());
      std::printf("word_count: %llu words, %zu different, the counts %s those of a serial run\n",
                  static_cast<unsigned long long>(words), different, wrong == 0 ? "equal" : "differ from");
      if (wrong != 0) throw std::runtime_error("word_count: " + std::to_string(wrong) + " counts are wrong");
    }
    team.barrier();  // rank 0 still looks up
  });
}
// tools/run word_count examples/data/ranks.txt 3:
//         77 the
//         28 and
//         18 a
//   word_count: 628 words, 200 different, the counts equal those of a serial run
