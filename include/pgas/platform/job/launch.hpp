// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <limits>
#include <pgas/platform/job/processes.hpp>
#include <pgas/platform/setting.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The rank and descriptor that a launcher passed in PGAS_RANK and PGAS_JOB_FD, if there are any.
struct inherited {
  int fd = -1;
  rank_t rank = -1;

  static inherited find() {
    auto const fd = setting::variable("PGAS_JOB_FD");
    auto const rank = setting::variable("PGAS_RANK");
    if (!fd.given() || !rank.given()) return {};
    return {.fd = static_cast<int>(fd.whole("a descriptor", 0, std::numeric_limits<int>::max())),
            .rank = static_cast<rank_t>(rank.whole("a rank's number", 0, job_block::max_ranks - 1))};
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
