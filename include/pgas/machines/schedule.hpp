// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace PGAS_NAMESPACE::emulation {

/// The emulator's choice of the next turn at a scheduling point.
enum class scheduling {
  turns,     ///< each core in turn, for a fixed number of points
  random,    ///< any core, for a random number of points
  priority,  ///< the core of highest priority, and a few points where the running one becomes the last (PCT)
  script,    ///< the choices of a search: see decisions
  replay,    ///< each core until it waits, except for the given switches: see switch_point
};

/// A change of turns in a run. Its place is a count of one core's points, so it stays valid in a run that
/// omits others.
struct switch_point {
  rank_t from = 0;       ///< the core that ran
  std::uint64_t at = 0;  ///< the scheduling points that `from` had passed
  bool waits = false;    ///< `from` waited, so a change was needed; else `from` could have gone on
  rank_t to = 0;         ///< the core that runs next

  friend bool operator==(switch_point const&, switch_point const&) = default;
};

/// The choices of one run, for searches. The run takes the given choices, and the first possible one at each
/// further point.
///
/// A point is a choice if more than one core can go on. `taken` lists each choice with the number of possible
/// cores, so a search can continue with the next one. After `most_switches` changes of turns a core that can
/// go on does.
struct decisions {
  /// A choice of the run.
  struct choice {
    std::uint32_t taken = 0;  ///< the number of the core, among the possible ones
    std::uint32_t of = 1;     ///< the number of possible cores
  };
  std::vector<std::uint32_t> given;             ///< the choices to take first
  std::vector<choice> taken;                    ///< the choices that the run has taken
  std::size_t most_switches = ~std::size_t{0};  ///< the bound on changes of turns

  /// Changes `given` to the next run of a depth-first search; returns false after the last run.
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

/// A stream of random numbers that the seed determines (splitmix64).
class dice {
 public:
  /// The stream of this seed.
  explicit dice(std::uint64_t seed) noexcept : state_(seed * 0xd1342543de82ef95U + 0x632be59bd9b4e019U) {}

  /// True in one of n cases; never for n = 0.
  [[nodiscard]] bool one_in(unsigned n) noexcept { return n != 0 && next() % n == 0; }
  /// A number in [0, n).
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

}  // namespace PGAS_NAMESPACE::emulation
