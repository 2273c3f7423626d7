// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/job/processes.hpp>
#include <pgas/detail/process/launched_rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Runs main(job of the rank) on ranks that are processes. If a launcher has started this process, it is one
/// of them; else `ranks` new ones are started. Returns the job when all have ended.
template <class Main>
job launch_processes(rank_t ranks, bool shared_arena, Main const& main) {
  if (auto const given = launched_rank::find()) {
    auto mine = job::attach(given->fd, given->rank);
    if (!run_rank(mine, [&] { main(mine); })) throw_failure(mine);
    mine.mark_returned();
    return mine;
  }
  auto made = job::create(ranks, shared_arena);
  run_processes(made, main);
  return made;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
