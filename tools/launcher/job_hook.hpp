// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/detail/job/job.hpp>
#include <string>
#include <string_view>

namespace pgas::launcher {

/// The launcher's side of the job block. Besides it the launcher uses only the list of descendants.
///
/// A rank that is a pgas program joins the block by its descriptor. Its waits throw when the launcher records
/// a death in the block. On other programs the block has no effect.
class job_hook {
 public:
  /// Throws pgas::error if such a job is impossible.
  explicit job_hook(int ranks) : job_(pgas::detail::job::create_for_launcher(ranks)) {}

  /// This descriptor must stay open, at this number, in every rank.
  [[nodiscard]] int fd() const noexcept { return job_.fd(); }

  /// Wakes all ranks: their waits throw and name `rank`.
  void failed(int rank, std::string_view what) const noexcept { job_.mark_failed(rank, what); }
  void timed_out(int rank, std::string_view what) const noexcept {
    job_.mark_failed(rank, what, errc::timed_out);
  }

  /// Marks `rank` as gone. The library's search for deadlocks then ends any wait for it.
  void finished(int rank) const noexcept { job_.mark_finished(rank); }

  /// True once `rank` is known to be a pgas program.
  [[nodiscard]] bool has_joined(int rank) const noexcept {
    return job_.record(rank).phase.load(std::memory_order_acquire) != pgas::detail::job_block::absent;
  }

  /// Whether `rank` has begun a job's body and not returned from it.
  [[nodiscard]] bool in_body(int rank) const noexcept {
    return job_.record(rank).phase.load(std::memory_order_acquire) == pgas::detail::job_block::running;
  }

  /// The rank that has reported its own failure to the others, most likely just before its end.
  [[nodiscard]] std::optional<int> culprit() const noexcept {
    if (int const rank = job_.failed_rank(); rank >= 0) return rank;
    return std::nullopt;
  }

  /// The operation in which `rank` has waited for a while; empty if there is none.
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
