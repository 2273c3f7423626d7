// SPDX-License-Identifier: BSL-1.0
// dis: four stressmarks of memory, verified: dis pointer|update|neighborhood|field [WORDS].
#include <cmath>
#include <cstdio>
#include <numeric>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <support/backends.hpp>

#include "support/arguments.hpp"
#include "support/dis.hpp"
#include "support/in_quotes.hpp"

namespace dis = example::dis;
using dis::numbers;
using dis::word;

/// Makes an array in blocks and fills it with random words below a bound.
template <class Team>
auto random_array(Team& team, std::size_t size, word below = word{1} << 32U) {
  auto field = pgas::make_array<word>(team, size);
  pgas::for_each_index(field, [=](auto const& at, word& w) { w = dis::random_word(at[0]) % below; });
  return field;
}

/// Returns all elements of an array on rank 0, and none on the others. Collective.
template <class Array>
numbers all_of(Array const& a) {
  pgas::fence epoch{a, pgas::read_only};
  numbers all(a.rank() == 0 ? a.size() : 0);
  if (a.rank() == 0) epoch.get({{}, a.extents()}, all);
  epoch.close();
  return all;
}

/// Each rank walks through the words. Each word names the place of the next one, so every read needs the one
/// before.
template <class Team>
numbers pointer(Team& team, std::size_t size) {
  auto const field = random_array(team, size);
  auto const hops = pgas::make_array<word>(team, dis::walks);
  {
    pgas::fence epoch{field, pgas::read_only};
    auto const own = pgas::stage(hops, pgas::write_only);
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = dis::walk(hops.own_box().first[0] + i, size, [&](std::size_t at) {
        dis::window seen;
        epoch.get(at, seen);
        epoch.flush_local_all();
        return seen;
      });
    }
  }
  return all_of(hops);
}

/// Rank 0 alone walks, and stores at each word that it visits. The others wait at the end of the epoch.
template <class Team>
numbers update(Team& team, std::size_t size) {
  auto const field = random_array(team, size);
  pgas::fence epoch{field};
  for (std::size_t i = 0; i < dis::walks && team.rank() == 0; ++i) {
    dis::walk(i, size, [&](std::size_t at) {
      dis::window seen;
      epoch.get(at, seen);
      epoch.flush_local_all();
      epoch[field.at(at)].store(dis::sum_of(seen));
      epoch.flush(field.owner(at));  // otherwise the next read might find the old word
      return seen;
    });
  }
  epoch.close();
  return all_of(field);
}

/// Histograms of pairs of pixels, near each other and far apart. Each rank counts the pairs that begin in its
/// rows and adds them to one histogram.
template <class Team>
numbers neighborhood(Team& team, std::size_t side) {
  auto const image = pgas::make_array<word>(team, {side, side});
  auto const counts = pgas::make_array<word>(team, dis::all_bins, pgas::single_owner{0});
  pgas::for_each_index(image, [=](auto const& at, word& pixel) {
    pixel = dis::random_word(at[0] * side + at[1]) % dis::levels;
  });
  std::size_t const first = image.first_row();
  numbers rows(std::min(image.local_rows() == 0 ? 0 : image.local_rows() + dis::reach, side - first) * side);
  {
    pgas::fence epoch{image, pgas::read_only};
    epoch.get({{first, 0}, {rows.size() / side, side}}, rows);
  }
  numbers mine(dis::all_bins);
  dis::count_pairs(rows, image.local_rows(), side, mine);
  {
    pgas::fence epoch{counts, pgas::write_only};
    epoch.accumulate(0, 0, mine);
  }
  auto const all = all_of(counts);
  if (team.rank() == 0) dis::print_texture(all);
  return all;
}

/// Searches for one token after the other. Each rank finds the tokens that begin in its block, and adds the
/// words between them to the sums of their pieces. It then changes letters of the tokens, also across a
/// border.
template <class Team>
numbers field(Team& team, std::size_t size) {
  auto const letters = random_array(team, size, dis::letters);
  auto const sums = pgas::make_array<word>(team, dis::most_pieces * dis::tokens);
  auto const least = pgas::make_array<word>(team, dis::most_pieces * dis::tokens);
  pgas::fill(least, dis::piece{}.least);
  auto const [first, count] = letters.own_box();
  numbers mine(count[0] == 0 ? 0 : std::min(count[0] + dis::token{}.size() - 1, size - first[0]));
  for (std::size_t k = 0; k < dis::tokens; ++k) {
    pgas::fence epoch{letters};
    epoch.get(first[0], mine);
    epoch.flush_local_all();
    auto const token = dis::token_of(k);
    std::vector<dis::piece> pieces(1);
    std::vector<std::pair<std::size_t, word>> changes;
    for (std::size_t i = 0; i < count[0]; ++i) {
      pieces.back().add(mine[i]);
      if (!dis::is_there(mine, i, token)) continue;
      pieces.emplace_back();
      for (std::size_t j = i; j < i + token.size(); ++j) {
        word const other = epoch[letters.at((first[0] + j + dis::offset) % size)].load();
        changes.emplace_back(first[0] + j, (mine[j] + other) % dis::letters);
      }
    }
    epoch.next();  // all ranks have searched
    // Tokens overlap, also across a border: such a letter gets the same value twice, perhaps from two ranks.
    for (auto const& [at, letter] : changes) epoch[letters.at(at)].atomic_store(letter);

    auto const found = team.all_gather(pieces.size() - 1);
    std::size_t number = std::accumulate(found.begin(), found.begin() + team.rank(), std::size_t{0});
    pgas::fence adds{sums};
    pgas::fence lowers{least};
    for (auto const& piece : pieces) {
      auto const at = sums.at(k * dis::most_pieces + std::min(number++, dis::most_pieces - 1));
      adds.accumulate(at.rank, static_cast<std::size_t>(at.index), piece.sum);
      lowers.accumulate(at.rank, static_cast<std::size_t>(at.index), piece.least, pgas::op::min{});
    }
  }
  auto const all_sums = all_of(sums);
  auto const all_least = all_of(least);
  numbers result;
  for (std::size_t i = 0; i < all_sums.size(); ++i) result.insert(result.end(), {all_sums[i], all_least[i]});
  auto const changed = all_of(letters);
  result.insert(result.end(), changed.begin(), changed.end());
  return result;
}

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty() || arguments.size() > 2)
      throw std::runtime_error("usage: dis pointer|update|neighborhood|field [WORDS]");
    auto const name = arguments[0];
    std::size_t const size = example::number(arguments, 1, 1U << 14U);
    if (size < 1024) throw std::runtime_error("dis: there are at least 1024 words");
    auto const side = static_cast<std::size_t>(std::sqrt(size));
    auto const verify = [&](numbers const& found, numbers (*serial)(std::size_t), std::size_t n) {
      if (team.rank() != 0) return;
      if (found != serial(n)) throw std::runtime_error("dis: not what a serial run gives");
      word const sum = std::accumulate(found.begin(), found.end(), word{0});
      std::printf("dis: %s gives %zu numbers, as a serial run does; their sum is %zu\n",
                  std::string(name).c_str(), found.size(), std::size_t{sum});
    };
    if (name == "pointer") return verify(pointer(team, size), dis::serial_pointer, size);
    if (name == "update") return verify(update(team, size), dis::serial_update, size);
    if (name == "neighborhood") return verify(neighborhood(team, side), dis::serial_neighborhood, side);
    if (name == "field") return verify(field(team, size), dis::serial_field, size);
    throw std::runtime_error("dis: there is no " + example::in_quotes(name) +
                             "; there are pointer, update, neighborhood, field");
  });
}
// tools/run dis neighborhood:
//   distance 1: entropy 9.3119, energy 1.096e-04
//   distance 10: entropy 9.3119, energy 1.096e-04
//   dis: neighborhood gives 2048 numbers, as a serial run does; their sum is 245652
