// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// How the emulator chooses whose turn it is at a scheduling point.
enum class scheduling {
  turns,     ///< each core in turn, for a fixed number of points
  random,    ///< any core, for a random number of points
  priority,  ///< the core of highest priority, and a few points where the running one becomes the last (PCT)
  script,    ///< what a search says: see decisions
  replay,    ///< each core until it waits, but for the switches that are given: see switch_point
};

/// A change of turns that a run made: where it is said by what one core did, so that it means the same in a run that
/// leaves out others.
struct switch_point {
  rank_t from = 0;
  std::uint64_t at = 0;  ///< how many scheduling points `from` had had
  bool waits = false;    ///< `from` waited and somebody had to go on; else it could have gone on itself
  rank_t to = 0;

  friend bool operator==(switch_point const&, switch_point const&) = default;
};

/// The choices of one run, for searches: those given are taken, then the first possible one at each further point.
///
/// A choice is made wherever more than one core could go on. `taken` lists each with how many there were, so that
/// a search can go on with the next one. After `most_switches` choices other than "go on" there is no choice.
struct decisions {
  struct choice {
    std::uint32_t taken = 0;
    std::uint32_t of = 1;
  };
  std::vector<std::uint32_t> given;
  std::vector<choice> taken;
  std::size_t most_switches = ~std::size_t{0};

  /// Changes `given` to the next run of a depth-first search; false when there is none.
  bool next() {
    while (!taken.empty() && taken.back().taken + 1 == taken.back().of) taken.pop_back();
    if (taken.empty()) return false;
    given.clear();
    for (auto const& c : taken) given.push_back(c.taken);
    ++given.back();
    taken.clear();
    return true;
  }
};

/// A stream of numbers that its seed determines (splitmix64).
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed * 0xd1342543de82ef95U + 0x632be59bd9b4e019U) {}

  [[nodiscard]] bool one_in(unsigned n) noexcept { return n != 0 && next() % n == 0; }
  [[nodiscard]] std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
