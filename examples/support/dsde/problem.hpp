// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <vector>

/// The dynamic sparse data exchange: each rank knows the ranks that it sends to, and no rank knows who sends
/// to it. Source: Hoefler, Siebert and Lumsdaine 2010; Gerstenberger, Besta and Hoefler 2014, section 4.2.
namespace example::dsde {

/// Eight bytes that travel. An item names its source, its round and its number, so that no two are equal.
using item = std::uint64_t;

/// The items that a rank sends to one neighbour.
struct delivery {
  pgas::rank_t to;
  std::vector<item> items;
};

/// The sizes of an exchange, the same on all ranks.
struct problem {
  std::size_t neighbours = 6;
  std::size_t items = 1;  ///< for each neighbour
  std::size_t rounds = 10;
};
inline constexpr std::size_t most_items = 64;       ///< for each neighbour
inline constexpr std::size_t most_neighbours = 64;  // of a rank

/// Pseudo-random numbers of a rank and a round: splitmix64, as on every rank.
class random {
 public:
  random(pgas::rank_t rank, std::size_t round) noexcept
      : state_((static_cast<std::uint64_t>(rank) << 32U) + round) {}
  std::uint64_t operator()() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }

 private:
  std::uint64_t state_;
};

/// The deliveries of a rank in a round: to different ranks other than itself.
inline std::vector<delivery> deliveries_of(problem const& p, pgas::rank_t source, pgas::rank_t ranks,
                                           std::size_t round) {
  std::size_t const count = std::min(p.neighbours, static_cast<std::size_t>(ranks) - 1);
  random next(source, round);
  std::vector<delivery> all;
  item number = static_cast<item>(source) << 40U | static_cast<item>(round & 0xFFFFFFU) << 16U;
  while (all.size() < count) {
    auto const to = static_cast<pgas::rank_t>(next() % static_cast<std::uint64_t>(ranks));
    if (to == source || std::any_of(all.begin(), all.end(), [&](delivery const& d) { return d.to == to; }))
      continue;
    all.push_back({to, {}});
    for (std::size_t i = 0; i < p.items; ++i) all.back().items.push_back(number++);
  }
  return all;
}

/// The items that a rank must receive in a round, sorted. Costs the deliveries of all ranks.
inline std::vector<item> items_for(problem const& p, pgas::rank_t target, pgas::rank_t ranks,
                                   std::size_t round) {
  std::vector<item> all;
  for (pgas::rank_t source = 0; source < ranks; ++source) {
    for (delivery const& d : deliveries_of(p, source, ranks, round)) {
      if (d.to == target) all.insert(all.end(), d.items.begin(), d.items.end());
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace example::dsde
