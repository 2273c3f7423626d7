// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Counts the clients that have ended a run of a map.
///
/// A client sends `ended` behind its requests and updates, on their queue. A rank that has received it from
/// all clients has therefore received all they sent on that queue. A client may begin the next run as soon
/// as it knows that all have ended, and may end it before another rank knows that. So each rank counts the
/// runs of each client.
class map_end {
 public:
  map_end(std::span<rank_t const> clients, rank_t ranks)
      : clients_(clients.begin(), clients.end()),
        runs_(static_cast<std::size_t>(ranks)),
        missing_(clients_.size()) {}

  /// A client has ended its run.
  void ended(rank_t client) noexcept {
    if (++runs_[static_cast<std::size_t>(client)] == run_) --missing_;
  }
  [[nodiscard]] bool is_over() const noexcept { return missing_ == 0; }

  /// Begins the next run. Requires that the last one is over.
  void next_run() noexcept {
    ++run_;
    for (rank_t const client : clients_)
      if (runs_[static_cast<std::size_t>(client)] < run_) ++missing_;
  }

 private:
  std::vector<rank_t> clients_;
  std::vector<std::uint64_t> runs_;  ///< of each rank: the runs that it has ended
  std::uint64_t run_ = 1;
  std::size_t missing_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
