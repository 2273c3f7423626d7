// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/platform/job/job.hpp>
#include <string>
#include <string_view>

namespace pgas::launcher {

/// The launcher's side of the job block: all it knows about the library.
///
/// Ranks that are pgas programs join the block by its descriptor; their waits then throw when the launcher
/// records a death in it. For other programs nothing here has an effect.
class job_hook {
 public:
  /// Throws pgas::error when there can be no such job.
  explicit job_hook(int ranks) : job_(pgas::detail::job::create(ranks)) {}

  /// Must stay open, at this number, in every rank.
  [[nodiscard]] int fd() const noexcept { return job_.fd(); }

  /// Wakes all ranks: their waits throw, naming `rank`.
  void failed(int rank, std::string_view what) const noexcept { job_.mark_failed(rank, what); }
  void timed_out(int rank, std::string_view what) const noexcept { job_.mark_failed(rank, what, errc::timed_out); }

  /// Nobody need wait for `rank` any more; a rank that does is told so by the library's search for deadlocks.
  void finished(int rank) const noexcept { job_.mark_finished(rank); }

  /// True once `rank` is known to be a pgas program.
  [[nodiscard]] bool has_joined(int rank) const noexcept {
    return job_.record(rank).phase.load(std::memory_order_acquire) != pgas::detail::job_block::absent;
  }

  /// Whether `rank` has begun a job's body and not returned from it.
  [[nodiscard]] bool in_body(int rank) const noexcept {
    return job_.record(rank).phase.load(std::memory_order_acquire) == pgas::detail::job_block::running;
  }

  /// The rank that has told the others of its own failure, most likely just before it ends.
  [[nodiscard]] std::optional<int> culprit() const noexcept {
    if (int const rank = job_.failed_rank(); rank >= 0) return rank;
    return std::nullopt;
  }

  /// The operation that `rank` has been waiting in for a while; empty if it is not.
  [[nodiscard]] std::string waits_in(int rank) const {
    auto const& record = job_.record(rank);
    std::string operation;
    if (record.wait.load(std::memory_order_acquire) % 2 == 0) return operation;
    for (auto const& c : record.operation) {
      char const letter = c.load(std::memory_order_relaxed);
      if (letter == '\0') break;
      operation += letter;
    }
    return operation;
  }

 private:
  pgas::detail::job job_;
};

}  // namespace pgas::launcher
