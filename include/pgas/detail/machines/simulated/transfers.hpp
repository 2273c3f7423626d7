// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/detail/machines/simulated/event_queue.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The transfers of one rank that a flush must wait for, by target. Memory: O(targets in flight).
class transfers {
 public:
  static constexpr rank_t every = -1;

  /// A transfer towards `target` has started.
  void start(rank_t target, bool is_get) {
    auto& t = to(target);
    ++(is_get ? t.gets : t.puts);
    ++in_flight_;
  }
  /// It has arrived; it will be complete at `done`.
  void arrived(rank_t target, bool is_get, ticks done) {
    auto& t = to(target);
    --(is_get ? t.gets : t.puts);
    --in_flight_;
    finish(t, is_get, done);
  }
  /// A transfer that needs no message is complete at `done`.
  void finished(rank_t target, bool is_get, ticks done) { finish(to(target), is_get, done); }

  /// The number of transfers that have not arrived, of all targets.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// The number of targets that it remembers.
  [[nodiscard]] std::size_t targets() const noexcept { return targets_.size(); }
  /// True if no transfer to the target is under way, or no get if only those count.
  [[nodiscard]] bool has_arrived(rank_t target, bool gets_only) const noexcept {
    return std::all_of(targets_.begin(), targets_.end(), [&](auto const& t) {
      return (target != every && t.rank != target) || (t.gets == 0 && (gets_only || t.puts == 0));
    });
  }
  /// The time at which they are complete.
  [[nodiscard]] ticks complete_at(rank_t target, bool gets_only) const noexcept {
    ticks last = 0;
    for (auto const& t : targets_) {
      if (target == every || t.rank == target)
        last = std::max({last, t.gets_done, gets_only ? ticks{0} : t.puts_done});
    }
    return last;
  }
  /// Forgets targets whose transfers are complete at `now`.
  void forget(ticks now) {
    std::erase_if(targets_, [now](auto const& t) {
      return t.puts == 0 && t.gets == 0 && t.puts_done <= now && t.gets_done <= now;
    });
  }

 private:
  struct towards {
    rank_t rank;
    std::uint32_t puts = 0, gets = 0;  ///< in flight
    ticks puts_done = 0, gets_done = 0;
  };

  towards& to(rank_t rank) {
    auto const found =
        std::find_if(targets_.begin(), targets_.end(), [rank](auto const& t) { return t.rank == rank; });
    return found != targets_.end() ? *found : targets_.emplace_back(towards{.rank = rank});
  }
  static void finish(towards& t, bool is_get, ticks done) noexcept {
    ticks& last = is_get ? t.gets_done : t.puts_done;
    last = std::max(last, done);
  }

  std::vector<towards> targets_;
  std::size_t in_flight_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
