// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <launcher/descriptor.hpp>

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pgas::launcher {

/// The conditions under which every rank starts.
struct start_conditions {
  char** program = nullptr;
  int ranks = 0;
  int job_fd = -1;
  ::sigset_t signal_mask{};     ///< the launcher's at its own start
  ::rlimit descriptor_limit{};  ///< likewise
  /// When the job's time is over, and how long that is.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::string timeout;
};

/// A process that runs one rank, and the launcher's ends of its pipes.
struct started_rank {
  ::pid_t pid = 0;
  descriptor watch;  ///< a pidfd, readable when the process has ended; -1 if the kernel has none
  descriptor output;
  descriptor errors;
};

/// The job does not begin; `exit_code` is a shell's for the case that the program cannot run.
struct cannot_start {
  std::string what;
  int exit_code;
};

/// The name of a signal: "SIGKILL" for 9.
inline std::string signal_name(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  static constexpr std::pair<int, char const*> names[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},     {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},       {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"},     {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},     {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},   {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"},
      {SIGIO, "SIGIO"},     {SIGPWR, "SIGPWR"}};
  for (auto const& [number, name] : names) {
    if (number == signal) return name;
  }
  return "signal " + std::to_string(signal);
}

namespace detail {

/// The launcher's environment with the variables of one rank.
class environment {
 public:
  environment(int rank, start_conditions const& with)
      : own_{"PGAS_RANK=" + std::to_string(rank), "PGAS_RANKS=" + std::to_string(with.ranks),
             "PGAS_JOB_FD=" + std::to_string(with.job_fd)} {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      std::string_view const name =
          std::string_view(*entry).substr(0, std::string_view(*entry).find('=') + 1);
      bool ours = false;
      for (auto const& variable : own_) ours = ours || variable.starts_with(name);
      if (!ours) pointers_.push_back(*entry);
    }
    for (auto& variable : own_) pointers_.push_back(variable.data());
    pointers_.push_back(nullptr);
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;

  [[nodiscard]] char** get() noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> own_;
  std::vector<char*> pointers_;
};

/// Turns the forked child into the rank. Makes only calls that are safe after fork; returns errno if exec
/// fails.
inline int become(start_conditions const& with, char** environment, ::pid_t launcher, int input, int output,
                  int errors) {
  // The rank has a process group of its own, so that its children receive its signals.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // the launcher died before prctl
  if (input >= 0) ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  ::fcntl(with.job_fd, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &with.descriptor_limit);
  ::sigprocmask(SIG_SETMASK, &with.signal_mask, nullptr);
  ::execvpe(with.program[0], with.program, environment);
  return errno;
}

/// The signal that has come to end the launcher, and waits until it is unblocked; 0: none.
inline int pending_end() {
  ::sigset_t pending;
  ::sigpending(&pending);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (::sigismember(&pending, signal) == 1) return signal;
  }
  return 0;
}

/// Returns whether a child is stopped. Takes no status from it.
inline bool is_stopped(::pid_t child) {
  ::siginfo_t info{};
  return ::waitid(P_PID, static_cast<::id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

/// Returns when a rank's process runs the program, or could not, and has written errno to `failure`.
///
/// A process that has been stopped before is continued after a second: until then it is the launcher's own,
/// so nobody knows that it waits for SIGCONT, and the other ranks are not there yet. Throws cannot_start when
/// a signal ends the launcher, or its time is over.
inline void wait_for_program(int rank, ::pid_t process, int failure, start_conditions const& with) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_looks{100};
  constexpr int looks_while_stopped = 10;
  std::string const who = "rank " + std::to_string(rank) + " (pid " + std::to_string(process) + ")";
  std::string const state = " before " + who + " ran " + with.program[0] + "; ended all ranks";
  ::pollfd what{.fd = failure, .events = POLLIN, .revents = 0};
  int looks = 0;
  for (;;) {
    if (::poll(&what, 1, static_cast<int>(between_looks.count())) > 0) return;
    if (int const signal = pending_end(); signal != 0)
      throw cannot_start{.what = signal_name(signal) + " came" + state, .exit_code = 128 + signal};
    if (clock::now() >= with.deadline) {
      throw cannot_start{.what = "the timeout of " + with.timeout + " s was over" + state, .exit_code = 124};
    }
    looks = is_stopped(process) ? looks + 1 : 0;
    if (looks < looks_while_stopped) continue;
    std::fprintf(stderr, "pgas-run: %s was stopped before it ran %s; continuing it\n", who.c_str(),
                 with.program[0]);
    ::kill(process, SIGCONT);
    looks = 0;
  }
}

}  // namespace detail

/// Starts one rank and returns when its program runs. `input` is its standard input; -1: the launcher's.
///
/// Throws cannot_start, or std::system_error if the system lacks a resource. The caller must have one thread
/// only: a fork copies no other thread, and the kernel ends a rank together with the thread that forked it.
inline started_rank start(int rank, start_conditions const& with, int input) {
  auto output = make_pipe();
  auto errors = make_pipe();
  auto failure = make_pipe();  // carries errno if exec fails; a successful exec closes it
  detail::environment environment(rank, with);
  ::pid_t const launcher = ::getpid();
  ::pid_t const pid = ::fork();
  if (pid < 0) throw_errno("cannot start rank " + std::to_string(rank));
  if (pid == 0) {
    int const why =
        detail::become(with, environment.get(), launcher, input, output.write.get(), errors.write.get());
    [[maybe_unused]] auto const told = ::write(failure.write.get(), &why, sizeof why);
    ::_exit(127);
  }
  failure.write.reset();
  auto const end = [pid] {
    ::kill(pid, SIGKILL);  // also if it is stopped
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
  };
  try {
    detail::wait_for_program(rank, pid, failure.read.get(), with);
  } catch (...) {
    end();
    throw;
  }
  int why = 0;
  ::ssize_t got = 0;
  do {
    got = ::read(failure.read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    end();
    throw cannot_start{.what = std::string("cannot run ") + with.program[0] + ": " + std::strerror(why),
                       .exit_code = why == ENOENT || why == ENOTDIR ? 127 : 126};
  }
  // The process is our child and not yet reaped, so the number is its own even if it has ended.
  descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return {.pid = pid,
          .watch = std::move(watch),
          .output = std::move(output.read),
          .errors = std::move(errors.read)};
}

}  // namespace pgas::launcher
