// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <pgas/platform/job/processes.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The rank and descriptor that a launcher passed in PGAS_RANK and PGAS_JOB_FD, if there are any.
struct inherited {
  int fd = -1;
  rank_t rank = -1;

  static inherited find() noexcept {
    char const* const fd = std::getenv("PGAS_JOB_FD");
    char const* const rank = std::getenv("PGAS_RANK");
    if (fd == nullptr || rank == nullptr) return {};
    return {.fd = std::atoi(fd), .rank = std::atoi(rank)};  // NOLINT(cert-err34-c): attach checks both
  }
};

/// Runs main(job of the rank) on ranks that are processes. If a launcher has started this process, it is one
/// of them; else `ranks` new ones are started. Returns the job when all have ended.
template <class Main>
job launch_processes(rank_t ranks, bool shared_arena, Main const& main) {
  if (auto const given = inherited::find(); given.fd >= 0) {
    auto mine = job::attach(given.fd, given.rank);
    if (!run_rank(mine, [&] { main(mine); })) throw_failure(mine);
    mine.mark_returned();
    return mine;
  }
  auto made = job::create(ranks, shared_arena);
  run_processes(made, main);
  return made;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
