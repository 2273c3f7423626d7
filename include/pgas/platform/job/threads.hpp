// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/platform/job/ranks.hpp>
#include <thread>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Runs main(job of the rank) on a thread for each rank. Returns when all have ended; throws if one failed.
template <class Main>
void run_threads(job const& j, Main const& main) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(j.size()));
  for (rank_t rank = 0; rank < j.size(); ++rank) {
    threads.emplace_back([&j, &main, rank] {
      job const mine = j.as(rank);
      run_rank(mine, [&] { main(mine); });
      mine.mark_finished(rank);
    });
  }
  for (auto& thread : threads) thread.join();
  throw_failure(j);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
