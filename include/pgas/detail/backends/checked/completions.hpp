// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <pgas/detail/backends/checked/record.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::checking {

/// The times at which accesses to one window were complete, in memory that all ranks share: a log of each
/// rank's flushes of each target, and of the boundaries that published its own stores.
///
/// A log has the rank's clock at its latest flushes. Only its rank writes it, and any rank reads it at any
/// time. A rank that reads late may find that an old flush has been overwritten; it then assumes that the
/// access was complete at once.
class completions {
 public:
  completions(std::byte* logs, std::size_t ranks, rank_t self)
      : logs_(reinterpret_cast<log*>(logs)),
        ranks_(ranks),
        self_(static_cast<std::size_t>(self)),
        own_(ranks) {}

  static std::size_t bytes(std::size_t ranks) noexcept { return (2 * ranks + 1) * ranks * sizeof(log); }

  /// This rank begins an access.
  void begin(record x, rank_t target) noexcept {
    if (x.kind() == recorded::store) has_stored_ = true;
    if (x.is_pending()) (x.writes() ? of(target).puts : of(target).gets) = true;
  }
  /// Puts and gets of this rank towards the target are complete, or only its gets. Returns whether there were
  /// any: then the rank's clock must advance.
  bool flush(rank_t target, std::uint32_t clock, bool of_gets_alone) {
    auto& mine = of(target);
    bool const puts = mine.puts && !of_gets_alone;
    if (puts) enter(log_of(self_, static_cast<std::size_t>(target), true), mine.flushed_puts = clock);
    if (mine.gets) enter(log_of(self_, static_cast<std::size_t>(target), false), mine.flushed_gets = clock);
    bool const any = puts || mine.gets;
    if (puts) mine.puts = false;
    mine.gets = false;
    return any;
  }
  /// A boundary publishes this rank's stores.
  bool publish(std::uint32_t clock) {
    if (!std::exchange(has_stored_, false)) return false;
    enter(log_of_stores(self_), clock);
    return true;
  }

  /// True if an access of this rank is complete at this rank.
  [[nodiscard]] bool has_ended(record mine, rank_t target) const noexcept {
    auto const& at = own_[static_cast<std::size_t>(target)];
    return !mine.is_pending() || (mine.writes() ? at.flushed_puts : at.flushed_gets) >= mine.clock();
  }
  /// The clock of another rank at which its access was complete; the largest if it is not.
  [[nodiscard]] std::uint32_t end_of(record r, rank_t target) const {
    if (!r.is_pending() && r.kind() != recorded::store) return r.clock();
    auto const rank = static_cast<std::size_t>(r.rank());
    log& its =
        r.is_pending() ? log_of(rank, static_cast<std::size_t>(target), r.writes()) : log_of_stores(rank);
    // acquire: pairs with the release in enter.
    std::uint32_t const count = std::atomic_ref(its.count).load(std::memory_order_acquire);
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    for (std::uint32_t i = 1; i <= std::min<std::uint32_t>(count, log::kept); ++i) {
      // relaxed: a clock that is newer than the count is later than all that this rank needs.
      std::uint32_t const at =
          std::atomic_ref(its.clocks[(count - i) % log::kept]).load(std::memory_order_relaxed);
      if (at < r.clock()) return first;
      first = std::min(first, at);
    }
    return count > log::kept ? r.clock() : first;
  }

 private:
  struct log {
    static constexpr std::size_t kept = 31;
    std::uint32_t count;  ///< of all entries so far
    std::array<std::uint32_t, kept> clocks;
  };
  /// This rank's own transfers towards a target, as far as it knows them.
  struct transfers {
    std::uint32_t flushed_puts = 0;
    std::uint32_t flushed_gets = 0;
    bool puts = false;  ///< some are not complete
    bool gets = false;
  };

  static void enter(log& to, std::uint32_t clock) {
    std::atomic_ref<std::uint32_t> count(to.count);
    std::uint32_t const n = count.load(std::memory_order_relaxed);  // only this rank stores it
    // relaxed: the count carries it.
    std::atomic_ref(to.clocks[n % log::kept]).store(clock, std::memory_order_relaxed);
    count.store(n + 1, std::memory_order_release);  // pairs with the acquire in end_of
  }
  [[nodiscard]] transfers& of(rank_t target) noexcept { return own_[static_cast<std::size_t>(target)]; }
  [[nodiscard]] log& log_of(std::size_t rank, std::size_t target, bool of_puts) const noexcept {
    return logs_[2 * (rank * ranks_ + target) + (of_puts ? 1 : 0)];
  }
  [[nodiscard]] log& log_of_stores(std::size_t rank) const noexcept {
    return logs_[2 * ranks_ * ranks_ + rank];
  }

  log* logs_;
  std::size_t ranks_;
  std::size_t self_;
  std::vector<transfers> own_;  ///< by target
  bool has_stored_ = false;     ///< in the own part, since the last boundary
};

}  // namespace PGAS_NAMESPACE::detail::checking
