// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pthread.h>

#include <cstring>
#include <pgas/detail/job/ranks.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Runs main(job of the rank) on a thread for each rank. Returns when all have ended; throws if one failed.
template <class Main>
void run_threads(job const& j, Main const& main) {
  struct rank_thread {
    job mine;
    Main const* main;
    ::pthread_t thread{};

    static void* run(void* self) {
      auto const& [mine, main, thread] = *static_cast<rank_thread*>(self);
      run_rank(mine, [&] { (*main)(mine); });
      mine.mark_finished(mine.rank());
      return nullptr;
    }
  };
  std::vector<rank_thread> threads;
  threads.reserve(static_cast<std::size_t>(j.size()));
  for (rank_t rank = 0; rank < j.size(); ++rank) {
    threads.push_back({j.as(rank), &main});
    if (int const why = ::pthread_create(&threads.back().thread, nullptr, rank_thread::run, &threads.back());
        why != 0) {
      threads.pop_back();
      j.mark_failed(rank, text_of({"rank ", rank, " cannot be started: ", std::strerror(why)}),
                    errc::no_space);
      break;
    }
  }
  for (auto const& each : threads) ::pthread_join(each.thread, nullptr);
  throw_failure(j);
}

}  // namespace PGAS_NAMESPACE::detail
