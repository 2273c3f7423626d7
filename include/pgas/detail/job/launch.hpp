// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/forked_process.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A process, as /proc shows it.
struct descendant {
  ::pid_t pid;
  ::pid_t parent;
  ::pid_t group;
};

/// All descendants of this process that have not ended. If this process is a subreaper, it inherits its
/// children's orphans, so the result includes daemons. Empty if /proc is not there.
inline plain_list<descendant> descendants() {
  plain_list<descendant> all;
  ::DIR* const open = ::opendir("/proc");
  if (open == nullptr) return all;
  while (::dirent const* const entry = ::readdir(open)) {
    char* end = nullptr;
    long const pid = std::strtol(entry->d_name, &end, 10);
    if (*end != '\0' || pid <= 0) continue;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) continue;  // it has ended
    char line[512];
    std::size_t const bytes = std::fread(line, 1, sizeof line - 1, file);
    std::fclose(file);
    line[bytes] = '\0';
    // The command's name is in parentheses, and may itself contain parentheses.
    char const* const name_end = std::strrchr(line, ')');
    char state = 0;
    int parent = 0;
    int group = 0;
    if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d %d", &state, &parent, &group) != 3) continue;
    if (state != 'Z') all.push_back({.pid = static_cast<::pid_t>(pid), .parent = parent, .group = group});
  }
  ::closedir(open);
  // Moves the descendants to the front: first the children of this process, then theirs, and so on.
  std::size_t found = 0;
  ::pid_t parent = ::getpid();
  for (std::size_t next = 0;; parent = all[next++].pid) {
    for (std::size_t i = found; i < all.size(); ++i) {
      if (all[i].parent == parent) std::swap(all[i], all[found++]);
    }
    if (next == found) break;
  }
  all.resize(found);
  return all;
}

/// The supervisor of ranks that are processes: a process of its own between the program that called run and
/// the ranks.
///
/// It does not depend on the program. The ranks are its children, so neither an ignored SIGCHLD nor a wait
/// for any child in the program takes a rank's status. It blocks all signals, and receives those that ask it
/// to end: then the job ends by an error, and a second such signal kills. It ignores those that the program
/// ignores. It uses no descriptor, so no rank inherits one. As a subreaper it inherits the orphans of ranks:
/// no process of the job outlives it.
///
/// It reaps each rank and records a death in the job block. The other ranks then end by the errors that their
/// waits throw. It ends what remains of a failed job: after `patience` by SIGTERM, after as long again by
/// SIGKILL. Processes that ranks have started and left get the same treatment when all ranks have ended.
///
/// A rank dies with the supervisor, by the kernel's signal at a parent's death. If the program dies, the
/// supervisor kills all its descendants. A process group of its own saves it from a signal to the program's
/// group. Only a SIGKILL to the supervisor itself may leave processes that ranks have started, but no rank.
class supervisor {
 public:
  /// `program` is the process that called run. `signals` are the signals that it blocks.
  supervisor(job const& j, ::pid_t program, ::sigset_t const& signals)
      : job_(j),
        program_(program),
        self_(::getpid()),
        signals_(signals),
        ranks_(static_cast<std::size_t>(j.size())) {}
  supervisor(supervisor const&) = delete;
  supervisor& operator=(supervisor const&) = delete;

  /// Starts one process for each rank and returns when all processes of the job have ended. The process runs
  /// main(job of the rank) and skips the program's exit handlers.
  template <class Main>
  void run(Main const& main) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // blocked, it only ends a pause
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::setpgid(0, 0);
    struct ::sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, &program_takes_);
    ::sigemptyset(&awaited_);
    ::sigaddset(&awaited_, SIGCHLD);
    ::sigaddset(&awaited_, SIGTERM);
    for (int const signal : {SIGINT, SIGHUP, SIGQUIT, SIGTERM}) {
      struct ::sigaction now {};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
      ::sigaddset(&awaited_, signal);
      ::sigaddset(&ending_, signal);
    }
    if (program_lives()) start(main);
    while (reap()) {
      act(now());
      pause();
    }
  }

 private:
  // Times are milliseconds on the steady clock.
  static constexpr std::int64_t patience = 1500;
  static constexpr std::int64_t between_kills = 50;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  static constexpr int most_kills = 40;

  static std::int64_t now() noexcept {
    ::timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }

  template <class Main>
  void start(Main const& main) {
    // The ranks inherit it. Each rank calls it again and keeps the result.
    static_cast<void>(bell::admit_fences());
    for (rank_t rank = 0; rank < job_.size(); ++rank) {
      ::pid_t const pid = fork_with_counts();
      if (pid == 0) child(rank, main);
      if (pid < 0) {
        job_.mark_failed(rank, text_of({"rank ", rank, " cannot be started: ", std::strerror(errno)}),
                         errc::no_space);
        return;
      }
      ranks_[static_cast<std::size_t>(rank)] = pid;
      ++running_;
    }
  }

  template <class Main>
  [[noreturn]] void child(rank_t rank, Main const& main) const noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != self_) ::_exit(1);  // the supervisor died before prctl
    ::setpgid(0, group_);
    ::sigaction(SIGCHLD, &program_takes_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    profile_of_rank::begin();
    job const mine = job_.as(rank);
    bool returned = run_rank(mine, [&] { main(mine); });
    if (!flush_output_of_process(nullptr) && returned) {
      mine.mark_cause(
          text_of({"rank ", rank, " cannot write its standard output; make room where the output goes"}));
      returned = false;
    }
    profile_of_rank::write();
    if (returned) mine.mark_finished(rank);
    ::_exit(returned ? 0 : 1);
  }

  [[nodiscard]] bool program_lives() const noexcept { return ::getppid() == program_; }

  /// Reaps all processes that have ended; returns false when none is left.
  bool reap() {
    for (;;) {
      int status = 0;
      ::pid_t const ended = ::waitpid(-1, &status, WNOHANG);
      if (ended == 0) return true;
      if (ended < 0) return false;  // ECHILD: WNOHANG is never interrupted
      for (rank_t rank = 0; rank < job_.size(); ++rank) {
        auto& process = ranks_[static_cast<std::size_t>(rank)];
        if (process == ended) record_end(rank, std::exchange(process, 0), status);
      }
    }
  }

  void record_end(rank_t rank, ::pid_t process, int status) {
    --running_;
    std::string const who = text_of({"rank ", rank, " (process ", process, ")"});
    if (WIFSIGNALED(status)) {
      int const signal = WTERMSIG(status);
      job_.mark_failed(rank,
                       text_of({who, " was killed by signal ", signal, " (", ::strsignal(signal), ")"}));
    } else if (job_.record(rank).phase.load(std::memory_order_acquire) != job_block::finished) {
      job_.mark_failed(
          rank, text_of({who, " ended before its body returned, with exit code ", WEXITSTATUS(status)}));
    }
  }

  /// Begins the end of the job if it is time, and takes its next step.
  void act(std::int64_t at) {
    if (!program_lives() && next_signal_ != SIGKILL) {
      next_signal_ = SIGKILL;
      next_step_ = at;
    }
    if (next_step_ == never) {
      if (job_.failed() || running_ == 0) next_step_ = at + patience;
    } else if (at >= next_step_ && kills_ < most_kills) {
      signal_all(next_signal_);
      // Again soon after a kill, since a process may just have forked.
      next_step_ = at + (next_signal_ == SIGKILL ? between_kills : patience);
      if (next_signal_ == SIGKILL) ++kills_;
      next_signal_ = SIGKILL;
    }
  }

  void signal_all(int signal) const {
    for (::pid_t const pid : ranks_) {
      if (pid != 0) ::kill(pid, signal);
    }
    for (auto const& d : descendants()) {
      bool reached = false;
      for (::pid_t const pid : ranks_) reached = reached || pid == d.pid;
      if (!reached) ::kill(d.pid, signal);
      if (signal != SIGKILL) ::kill(d.pid, SIGCONT);  // a stopped process cannot act on the signal
    }
  }

  /// Pauses until a process ends, the program ends, or the next step is due; at most 100 ms, since a rank may
  /// fail without an end.
  void pause() {
    if (kills_ == most_kills) ::_exit(1);  // a process hangs in the kernel
    std::int64_t const left = std::clamp<std::int64_t>(next_step_ - now(), 0, 100);
    ::timespec const limit{.tv_sec = 0, .tv_nsec = static_cast<long>(left * 1'000'000)};
    ::siginfo_t info{};
    int const signal = ::sigtimedwait(&awaited_, &info, &limit);
    if (signal > 0 && ::sigismember(&ending_, signal) == 1 && program_lives()) end_by(signal, info.si_pid);
  }

  /// Ends the job because a process asks for it. The first time, the ranks may end by their errors.
  void end_by(int signal, ::pid_t sender) {
    if (std::exchange(is_told_, true)) {
      next_signal_ = SIGKILL;
      next_step_ = now();
      return;
    }
    std::string const name = signal == SIGINT    ? "SIGINT"
                             : signal == SIGHUP  ? "SIGHUP"
                             : signal == SIGQUIT ? "SIGQUIT"
                                                 : "SIGTERM";
    job_.mark_failed(job::supervisor, text_of({"the ranks' supervisor (process ", self_, ") got ", name,
                                               " from process ", sender, ", which ends the job"}));
  }

  job const& job_;
  ::pid_t program_;
  ::pid_t self_;
  ::pid_t group_ = ::getpgrp();  ///< the program's, to which the ranks belong
  ::sigset_t signals_;
  struct ::sigaction program_takes_ {};  ///< the program's SIGCHLD, which ranks get
  ::sigset_t awaited_{};                 ///< what ends a pause
  ::sigset_t ending_{};                  ///< signals that end the job
  bool is_told_ = false;                 ///< one of them has come
  plain_list<::pid_t> ranks_;            ///< the ranks' processes; 0: it does not run
  rank_t running_ = 0;
  std::int64_t next_step_ = never;
  int next_signal_ = SIGTERM;
  int kills_ = 0;
};

/// Runs main(job of the rank) in a process for each rank. Returns when all have ended; throws if one failed.
template <class Main>
void run_processes(job const& j, Main const& main) {
  flush_output_of_process(nullptr);  // otherwise each child would write the buffers again
  end_threads_of_openmp();
  ::pid_t const program = ::getpid();
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);  // no handler of the program runs in the supervisor
  ::pid_t const pid = fork_with_counts();
  int const why = errno;
  if (pid == 0) {
    try {
      supervisor(j, program, before).run(main);
      j.block().all_ended.store(1, std::memory_order_release);  // pairs with the acquire below
    } catch (std::bad_alloc const&) {
      j.mark_failed(job::supervisor, "there is no memory for the ranks' supervisor", errc::no_space);
    }
    ::_exit(0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    throw_error(errc::no_space, job::supervisor,
                {"the ranks' supervisor cannot be started: ", std::strerror(why)});
  }
  // The program may have collected the status elsewhere. The wait then fails when the supervisor has ended.
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!j.failed() && j.block().all_ended.load(std::memory_order_acquire) == 0) {
    throw_error(errc::rank_failed, job::supervisor,
                {"the ranks' supervisor (process ", pid,
                 ") was killed, and the ranks with it; run the program again"});
  }
  throw_failure(j);
}

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

}  // namespace PGAS_NAMESPACE::detail
