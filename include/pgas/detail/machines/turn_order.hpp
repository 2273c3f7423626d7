// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <pgas/machines/schedule.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::emulation {

using pgas::emulation::dice;
using pgas::emulation::scheduling;

/// A set of cores, mostly of those that wait for a word to change: bit r is core r.
using waiters = std::uint64_t;
constexpr waiters bit(rank_t rank) noexcept { return waiters{1} << static_cast<unsigned>(rank); }

/// The order and length of turns without a clock, as the schedule of a machine's options and the seed
/// determine them. A turn belongs to a core, or to an agent of the machine that has the number after the last
/// core.
template <class Options>
class turn_order {
 public:
  /// `d` must serve only purposes that the seed determines.
  turn_order(Options const& how, rank_t cores, dice& d) : how_(&how), dice_(&d), picks_(~how.seed) {
    if (how.schedule != scheduling::priority) return;
    for (rank_t r = 0; r < cores; ++r) priorities_.push_back(r);
    for (std::size_t i = priorities_.size(); i > 1; --i)
      std::swap(priorities_[i - 1], priorities_[d.below(i)]);
    next_change_ = d.below(points_guess);
  }

  /// Counts a scheduling point of this core.
  void count(rank_t core) noexcept { ++points_of_[static_cast<std::size_t>(core)]; }

  /// The length of the next turn, in scheduling points.
  [[nodiscard]] std::int64_t length() noexcept {
    switch (how_->schedule) {
      case scheduling::turns:
        return usual_turn;
      case scheduling::random:
        return 1 + static_cast<std::int64_t>(dice_->below(dice_->one_in(4) ? 64 : 4));
      case scheduling::priority:
      case scheduling::script:
      case scheduling::replay:
        return 1;
    }
    return 1;
  }

  /// Returns the next core of those that can run. In a search and for priorities it may be `current`, the
  /// running core, if there is one. `last` is the core of the previous turn.
  [[nodiscard]] rank_t next(waiters runnable, rank_t current, rank_t last, std::uint64_t points) {
    switch (how_->schedule) {
      case scheduling::turns: {
        auto const start = static_cast<int>(last + 1);
        waiters const rotated = std::rotr(runnable, start % 64);
        return static_cast<rank_t>((std::countr_zero(rotated) + start) % 64);
      }
      case scheduling::random:
        return nth(runnable, dice_->below(static_cast<std::size_t>(std::popcount(runnable))));
      case scheduling::priority:
        return first_by_priority(runnable, current, points);
      case scheduling::script:
        return by_script(runnable, current);
      case scheduling::replay:
        return by_replay(runnable, current, last);
    }
    return current;
  }

  /// Returns one of `count` things that may happen next. Random choices have a stream of their own, so that a
  /// replay of the turns repeats them.
  [[nodiscard]] std::size_t pick(std::size_t count) {
    if (count == 1 || how_->schedule == scheduling::turns) return 0;
    if (how_->schedule != scheduling::script) return picks_.below(count);
    return decide(static_cast<std::uint32_t>(count));
  }

  /// Adds a change of turns to options::record.
  void record(rank_t from, bool waits, rank_t to) const {
    if (how_->record != nullptr) how_->record->push_back({from, points_of(from), waits, to});
  }

 private:
  /// The assumed number of points of a test program, since PCT spreads its changes over them.
  static constexpr std::size_t points_guess = 2000;
  static constexpr std::int64_t usual_turn = 64;

  [[nodiscard]] static rank_t nth(waiters left, std::size_t n) noexcept {
    for (; n > 0; --n) left &= left - 1;
    return static_cast<rank_t>(std::countr_zero(left));
  }

  // Source: Burckhardt and others, A randomized scheduler with probabilistic guarantees of finding bugs,
  // 2010.
  rank_t first_by_priority(waiters runnable, rank_t current, std::uint64_t points) {
    if (points >= next_change_ && current >= 0) {
      auto const it = std::find(priorities_.begin(), priorities_.end(), current);
      std::rotate(it, it + 1, priorities_.end());
      next_change_ = points + 1 + dice_->below(points_guess);
    }
    for (rank_t rank : priorities_) {
      if ((runnable & bit(rank)) != 0) return rank;
    }
    return current;
  }

  /// Takes the script's next choice.
  std::uint32_t decide(std::uint32_t count) {
    auto& d = *how_->script;
    std::size_t const at = d.taken.size();
    std::uint32_t const take = at < d.given.size() ? std::min(d.given[at], count - 1) : 0;
    d.taken.push_back({take, count});
    return take;
  }
  rank_t by_script(waiters runnable, rank_t current) {
    auto const& d = *how_->script;
    bool const can_stay = current >= 0 && (runnable & bit(current)) != 0;
    auto const count = static_cast<std::uint32_t>(std::popcount(runnable));
    if (count == 1 || (can_stay && script_switches_ >= d.most_switches))
      return can_stay ? current : nth(runnable, 0);
    std::uint32_t const take = decide(count);
    if (!can_stay) return nth(runnable, take);
    if (take == 0) return current;  // the first choice is to continue
    ++script_switches_;
    rank_t const other = nth(runnable, take - 1);
    return other < current ? other : nth(runnable, take);
  }

  rank_t by_replay(waiters runnable, rank_t current, rank_t last) const {
    bool const waits = current < 0;
    rank_t const from = waits ? last : current;
    for (auto const& s : *how_->switches) {
      if (s.from == from && s.at == points_of(from) && s.waits == waits && (runnable & bit(s.to)) != 0)
        return s.to;
    }
    return waits ? nth(runnable, 0) : current;
  }

  [[nodiscard]] std::uint64_t points_of(rank_t rank) const noexcept {
    return rank < 0 ? 0 : points_of_[static_cast<std::size_t>(rank)];
  }

  Options const* how_;
  dice* dice_;
  dice picks_;
  std::vector<rank_t> priorities_;
  std::array<std::uint64_t, 64> points_of_{};
  std::uint64_t next_change_ = 0;
  std::size_t script_switches_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::emulation
