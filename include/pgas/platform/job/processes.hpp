// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <pgas/platform/job/ranks.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The supervisor of ranks that are processes: their parent, and no rank itself.
///
/// It reaps each rank and records a death in the job block. The other ranks then end by the errors that their
/// waits throw. It ends the remaining ranks: after `patience` by SIGTERM, after as long again by SIGKILL. A
/// rank dies with its supervisor, whatever ends the supervisor.
class supervisor {
 public:
  explicit supervisor(job const& j) : job_(j), parent_(::getpid()) {}
  supervisor(supervisor const&) = delete;
  supervisor& operator=(supervisor const&) = delete;
  ~supervisor() {
    for (auto const& c : children_) {
      if (c.running) ::kill(c.pid, SIGKILL);
    }
    for (auto& c : children_) reap(c, true);
  }

  /// Starts one process for each rank. The process runs main(job of the rank) and skips the parent's exit
  /// handlers.
  template <class Main>
  void start(Main const& main) {
    std::fflush(nullptr);  // otherwise each child would write the buffers again
    for (rank_t rank = 0; rank < job_.size(); ++rank) {
      ::pid_t const pid = ::fork();
      if (pid == 0) child(rank, main);
      if (pid < 0) {
        job_.mark_failed(rank, "rank " + std::to_string(rank) + " cannot be started: " + std::strerror(errno),
                         errc::no_space);
        return;
      }
      children_.push_back(
          {.pid = pid, .watch = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)), .rank = rank});
    }
  }

  /// Returns when every rank has ended. Throws the job's failure, if there is one.
  void wait() {
    auto deadline = clock::time_point::max();
    int next_signal = SIGTERM;
    while (look()) {
      if (job_.failed()) {
        auto const now = clock::now();
        if (deadline == clock::time_point::max()) {
          deadline = now + patience;
        } else if (now >= deadline) {
          for (auto const& c : children_) {
            if (c.running) ::kill(c.pid, next_signal);
          }
          next_signal = SIGKILL;
          deadline = now + patience;
        }
      }
    }
    throw_failure(job_);
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds patience{1500};

  struct process {
    ::pid_t pid = 0;
    int watch = -1;  ///< a pidfd, readable when the process has ended; -1 if the kernel has none
    rank_t rank = 0;
    bool running = true;
  };

  template <class Main>
  [[noreturn]] void child(rank_t rank, Main const& main) const noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent_) ::_exit(1);  // the supervisor died before prctl
    job const mine = job_.as(rank);
    bool const returned = run_rank(mine, [&] { main(mine); });
    if (returned) mine.mark_finished(rank);
    std::fflush(nullptr);
    ::_exit(returned ? 0 : 1);
  }

  /// Waits up to 100 ms for the end of a process; returns false when none is running.
  bool look() {
    std::vector<::pollfd> watched;
    for (auto const& c : children_) {
      if (c.running) watched.push_back({.fd = c.watch, .events = POLLIN, .revents = 0});
    }
    if (watched.empty()) return false;
    bool const exact = watched.front().fd >= 0;
    ::poll(watched.data(), watched.size(), exact ? 100 : 5);
    for (auto& c : children_) reap(c, false);
    return true;
  }

  void reap(process& c, bool block) {
    if (!c.running) return;
    int status = 0;
    ::pid_t ended = 0;
    do {
      ended = ::waitpid(c.pid, &status, block ? 0 : WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return;
    c.running = false;
    if (c.watch >= 0) ::close(c.watch);
    if (ended < 0) return;  // the program reaped it elsewhere
    std::string const who = "rank " + std::to_string(c.rank) + " (process " + std::to_string(c.pid) + ")";
    if (WIFSIGNALED(status)) {
      int const signal = WTERMSIG(status);
      job_.mark_failed(
          c.rank, who + " was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")");
    } else if (job_.record(c.rank).phase.load(std::memory_order_acquire) != job_block::finished) {
      job_.mark_failed(c.rank, who + " ended before its body returned, with exit code " +
                                   std::to_string(WEXITSTATUS(status)));
    }
  }

  job const& job_;
  ::pid_t parent_;
  std::vector<process> children_;
};

/// Runs main(job of the rank) in a process for each rank. Returns when all have ended; throws if one failed.
template <class Main>
void run_processes(job const& j, Main const& main) {
  supervisor ranks(j);
  ranks.start(main);
  ranks.wait();
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
