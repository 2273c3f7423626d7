// SPDX-License-Identifier: BSL-1.0
// concordance: all ranks list the lines in which each word of a text stands. concordance BOOK.txt [WORD]...
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <pgas/containers/chunked_map.hpp>
#include <pgas/pgas.hpp>
#include <pgas/vocabulary/bounded_string.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <support/backends.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/file.hpp"
#include "support/words_of_text.hpp"

namespace concordance {

using word = pgas::bounded_string<47>;     // of a longer one, its beginning
using lines = std::vector<std::uint32_t>;  // in order, each once

/// Adds the words of the lines that begin in bytes [first, end) of a text. `number` is that of the first one.
void collect(std::unordered_map<word, lines>& into, std::string_view text, std::size_t first, std::size_t end,
             std::uint32_t number) {
  for (; first < end; ++number) {
    std::size_t const next = std::min(text.find('\n', first), text.size() - 1) + 1;
    example::for_each_word(text, first, next, [&](std::string_view w) {
      lines& its = into[word::beginning_of(w)];
      if (its.empty() || its.back() != number) its.push_back(number);
    });
    first = next;
  }
}

/// The first line that begins at a byte or behind it.
std::size_t line_at(std::string_view text, std::size_t byte) {
  if (byte == 0) return 0;
  return std::min(text.find('\n', byte - 1), text.size() - 1) + 1;
}

/// The union of what other ranks have found and of what this rank has found.
lines merged(std::optional<lines> const& theirs, lines const& own) {
  if (!theirs) return own;
  lines all;
  all.reserve(theirs->size() + own.size());
  std::set_union(theirs->begin(), theirs->end(), own.begin(), own.end(), std::back_inserter(all));
  return all;
}

/// Prints a word with its lines: all of them, or the first ones.
void print(word const& w, lines const& its, std::size_t how_many) {
  std::printf("%.*s, in %zu %s:", static_cast<int>(w.size()), w.view().data(), its.size(),
              its.size() == 1 ? "line" : "lines");
  for (std::size_t i = 0; i < std::min(how_many, its.size()); ++i) std::printf(" %u", its[i]);
  std::puts(its.size() > how_many ? " ..." : "");
}

}  // namespace concordance

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    namespace c = concordance;
    if (arguments.empty()) throw std::runtime_error("usage: concordance BOOK.txt [WORD]...");
    std::string const text = example::read_file(std::string(arguments[0]), std::size_t{1} << 30U);
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const self = static_cast<std::size_t>(team.rank());

    team.barrier();
    auto const before = std::chrono::steady_clock::now();
    // Each rank takes a share of the lines, and numbers them by those of the ranks before.
    std::size_t const first = c::line_at(text, text.size() * self / ranks);
    std::size_t const end = c::line_at(text, text.size() * (self + 1) / ranks);
    auto const begin = text.begin();
    auto const before_mine = std::count(begin, begin + static_cast<std::ptrdiff_t>(first), '\n');
    std::unordered_map<c::word, c::lines> mine;
    c::collect(mine, text, first, end, static_cast<std::uint32_t>(before_mine) + 1);

    // A changed value has its old and its new chunks for a while. Only words of many lines need any.
    std::size_t places = 0;
    for (auto const& [w, its] : mine) places += its.size();
    std::size_t const all_places = team.all_reduce(places);
    std::size_t const all_words = team.all_reduce(mine.size());
    auto map = pgas::make_chunked_map<c::word, std::uint32_t>(
        team, {.keys = {.capacity = 1000, .most = 1000 + all_words},
               .chunks = {.capacity = 1000, .most = 1000 + all_places / 8}});
    // Each rank begins with the words of another owner, since ranks that meet at a word repeat their step.
    for (std::size_t turn = 0; turn < ranks; ++turn) {
      auto const owner = static_cast<pgas::rank_t>((self + turn) % ranks);
      for (auto const& [w, its] : mine) {
        if (map.owner(w) != owner) continue;
        map.transform(w, [&own = its](auto const& theirs) { return std::optional(c::merged(theirs, own)); });
      }
    }
    std::size_t const different = map.size();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;

    // Rank 0 reads the text alone, and looks up each of its words.
    if (team.rank() == 0) {
      std::unordered_map<c::word, c::lines> serial;
      c::collect(serial, text, 0, text.size(), 1);
      std::size_t wrong = serial.size() == different ? 0 : 1;
      std::vector<std::pair<std::size_t, c::word>> by_number;
      for (auto const& [w, its] : serial) {
        wrong += map.lookup(w) != its ? 1U : 0U;
        by_number.emplace_back(its.size(), w);
      }
      std::fprintf(stderr, "concordance: %.6f s\n", passed.count());
      for (std::string_view const asked : arguments.subspan(1)) {
        auto const w = c::word::beginning_of(asked);
        c::print(w, map.lookup(w).value_or(c::lines()), SIZE_MAX);
      }
      if (arguments.size() == 1) {
        std::sort(by_number.begin(), by_number.end(), [](auto const& a, auto const& b) {
          return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        for (std::size_t i = 0; i < std::min<std::size_t>(10, by_number.size()); ++i)
          c::print(by_number[i].second, map.lookup(by_number[i].second).value_or(c::lines()), 12);
      }
      std::printf("concordance: %zu words in %zu places, which %s those of a serial run\n", different,
                  all_places, wrong == 0 ? "equal" : "differ from");
      if (wrong != 0)
        throw std::runtime_error("concordance: the lines of " + std::to_string(wrong) + " words are wrong");
    }
    team.barrier();  // rank 0 still looks up
  });
}
// tools/run concordance examples/data/ranks.txt rank bucket:
//   rank, in 14 lines: 3 4 8 9 11 14 16 18 24 32 34 36 39 43
//   bucket, in 9 lines: 18 22 23 24 26 27 29 32 39
//   concordance: 200 words in 520 places, which equal those of a serial run
