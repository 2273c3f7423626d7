// SPDX-License-Identifier: BSL-1.0
// A rank that joins the launcher's job, for the launcher's tests: pgas_probe WHAT. Rank 1 does WHAT while the
// other ranks wait for it without end.
#include <signal.h>
#include <unistd.h>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

int main(int argc, char** argv) try {
  std::string const what = argc > 1 ? argv[1] : "";
  auto const job =
      pgas::detail::job::attach(std::atoi(std::getenv("PGAS_JOB_FD")), std::atoi(std::getenv("PGAS_RANK")));
  bool const returned = pgas::detail::run_rank(job, [&] {
    if (what == "publish") {  // as a wait does after a while
      std::string_view const operation = "coffee break";
      for (std::size_t i = 0; i < operation.size(); ++i) job.record().operation[i] = operation[i];
      job.record().wait = 1;
      ::sleep(100);
    }
    job.fence();
    if (job.rank() == 1) {
      if (what == "kill") ::kill(::getpid(), SIGKILL);
      if (what == "exit") ::_exit(7);
      if (what == "throw") throw std::runtime_error("the coffee is cold");
      if (what == "leave") ::_exit(0);
      if (what == "return") return;
      if (what == "pass") {
        job.put("coffee", {});
        return;
      }
    }
    if (what == "pass") {
      job.get("coffee", {});
      return;
    }
    pgas::rank_t const awaited[] = {1};
    pgas::detail::wait_for(
        job, [] { return false; }, {.operation = "coffee break"}, "table",
        [&]() -> auto const& { return awaited; });
  });
  if (returned) job.mark_finished(job.rank());
  // The failed rank ends slowly: ranks that only learned of the failure must not be blamed for ending
  // earlier.
  if (!returned && job.failed_rank() == job.rank()) ::usleep(100'000);
  pgas::detail::throw_failure(job);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return std::getenv("PGAS_RANK")[0] == '1' ? 11 : 10;
}
