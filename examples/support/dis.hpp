// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <vector>

/// The memory accesses of the Data-Intensive Systems stressmarks, for memory of any owner, and their results
/// on plain memory. Ferreras 2008, section 6.4.4, describes the stressmarks; the sizes are ours.
namespace example::dis {

using word = std::uint64_t;
using numbers = std::vector<word>;

/// Word i of the initial contents of each stressmark: 32 random bits.
inline word random_word(std::size_t i) noexcept {
  word x = (i + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  return (x ^ (x >> 27U)) >> 32U;
}
inline numbers random_words(std::size_t count, word below = word{1} << 32U) {
  numbers all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = random_word(i) % below;
  return all;
}

// ---- Pointer and Update ----------------------------------------------------------------------------

inline constexpr std::size_t walks = 64;
inline constexpr std::size_t most_hops = 200;
using window = std::array<word, 5>;  // the words that are read at one place

/// The number of hops from a place to the first sixty-fourth of the words. `look(place)` returns the window
/// that begins there, and its median gives the next place.
template <class Look>
std::size_t walk(std::size_t place, std::size_t size, Look const& look) {
  std::size_t hops = 0;
  do {
    window seen = look(place);
    std::nth_element(seen.begin(), seen.begin() + seen.size() / 2, seen.end());
    place = (seen[seen.size() / 2] + hops++) % (size - seen.size() + 1);
  } while (place >= size / 64 && hops < most_hops);
  return hops;
}
/// The value that Update stores at the place of a window.
inline word sum_of(window const& seen) noexcept {
  word sum = 0;
  for (word w : seen) sum += w;
  return sum;
}

// ---- Neighborhood ----------------------------------------------------------------------------------

inline constexpr word levels = 64;  // of grey
inline constexpr std::array<std::size_t, 2> distances{1, 10};
inline constexpr std::size_t reach = 10;
inline constexpr std::size_t bins = 2 * levels;
/// For each distance and direction a histogram of the pairs' sums, and one of their differences.
inline constexpr std::size_t all_bins = distances.size() * 4 * 2 * bins;

/// Adds to `counts` the pairs whose upper pixel is in the first `own` of these rows; each row has `side`
/// pixels.
inline void count_pairs(std::span<word const> rows, std::size_t own, std::size_t side,
                        std::span<word> counts) {
  std::size_t const there = rows.size() / std::max<std::size_t>(side, 1);
  word* histogram = counts.data();
  for (std::size_t const d : distances) {
    for (auto const& [down, right] : {std::array{0, 1}, {1, 1}, {1, 0}, {1, -1}}) {
      std::size_t const below = d * static_cast<std::size_t>(down);
      for (std::size_t i = 0; i < own && i + below < there; ++i) {
        for (std::size_t j = 0; j < side; ++j) {
          std::size_t const k = j + d * static_cast<std::size_t>(right);  // huge if negative
          if (k >= side) continue;
          word const a = rows[i * side + j];
          word const b = rows[(i + below) * side + k];
          ++histogram[a + b];
          ++histogram[bins + levels + a - b];
        }
      }
      histogram += 2 * bins;
    }
  }
}

/// Prints the properties of the texture that follow from the histograms.
inline void print_texture(std::span<word const> counts) {
  for (std::size_t const d : distances) {
    double entropy = 0;
    double energy = 0;
    for (int direction = 0; direction < 4; ++direction) {
      double product = 1;
      for (int which = 0; which < 2; ++which, counts = counts.subspan(bins)) {
        double pairs = 0;
        double squares = 0;
        for (word n : counts.first(bins)) pairs += static_cast<double>(n);
        for (word n : counts.first(bins)) {
          double const share = static_cast<double>(n) / pairs;
          if (n != 0) entropy -= share * std::log(share) / 4;
          squares += share * share;
        }
        product *= squares;
      }
      energy += product / 4;
    }
    std::printf("distance %zu: entropy %.4f, energy %.3e\n", d, entropy, energy);
  }
}

// ---- Field -----------------------------------------------------------------------------------------

inline constexpr word letters = 4;
inline constexpr std::size_t tokens = 16;
inline constexpr std::size_t most_pieces =
    512;                                     // between tokens of a kind; the rest belongs to the last token
inline constexpr std::size_t offset = 1000;  // from a token's letter to the one that is added to it
using token = std::array<word, 3>;

inline token token_of(std::size_t number) noexcept {
  token t;
  for (std::size_t k = 0; k < t.size(); ++k) t[k] = random_word(~number * t.size() - k) % letters;
  return t;
}
inline bool is_there(std::span<word const> field, std::size_t i, token const& t) noexcept {
  return i + t.size() <= field.size() &&
         std::equal(t.begin(), t.end(), field.begin() + static_cast<std::ptrdiff_t>(i));
}
/// The statistics of the letters between two tokens.
struct piece {
  word sum = 0;
  word least = std::numeric_limits<word>::max();

  void add(word letter) noexcept {
    sum += letter;
    least = std::min(least, letter);
  }
};

// ---- on plain memory -------------------------------------------------------------------------------

inline numbers serial_pointer(std::size_t size) {
  auto const field = random_words(size);
  numbers hops(walks);
  for (std::size_t i = 0; i < walks; ++i) {
    hops[i] = walk(i, size, [&](std::size_t at) {
      window seen;
      std::copy_n(field.begin() + static_cast<std::ptrdiff_t>(at), seen.size(), seen.begin());
      return seen;
    });
  }
  return hops;
}

inline numbers serial_update(std::size_t size) {
  auto field = random_words(size);
  for (std::size_t i = 0; i < walks; ++i) {
    walk(i, size, [&](std::size_t at) {
      window seen;
      std::copy_n(field.begin() + static_cast<std::ptrdiff_t>(at), seen.size(), seen.begin());
      field[at] = sum_of(seen);
      return seen;
    });
  }
  return field;
}

inline numbers serial_neighborhood(std::size_t side) {
  numbers counts(all_bins);
  count_pairs(random_words(side * side, levels), side, side, counts);
  return counts;
}

inline numbers serial_field(std::size_t size) {
  auto field = random_words(size, letters);
  numbers result;
  for (std::size_t k = 0; k < tokens; ++k) {
    token const t = token_of(k);
    std::vector<piece> pieces(1);
    auto changed = field;
    for (std::size_t i = 0; i < size; ++i) {
      pieces.back().add(field[i]);
      if (!is_there(field, i, t)) continue;
      if (pieces.size() < most_pieces) pieces.emplace_back();
      for (std::size_t j = i; j < i + t.size(); ++j)
        changed[j] = (field[j] + field[(j + offset) % size]) % letters;
    }
    field = changed;
    pieces.resize(most_pieces);
    for (auto const& p : pieces) {
      result.push_back(p.sum);
      result.push_back(p.least);
    }
  }
  result.insert(result.end(), field.begin(), field.end());
  return result;
}

}  // namespace example::dis
