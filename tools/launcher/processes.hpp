// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <launcher/descriptor.hpp>

#include <cerrno>
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
  char** program;
  int ranks;
  int job_fd;
  ::sigset_t signal_mask;       ///< the launcher's at its own start
  ::rlimit descriptor_limit{};  ///< likewise
};

/// A process that runs one rank, and the launcher's ends of its pipes.
struct started_rank {
  ::pid_t pid = 0;
  descriptor watch;  ///< a pidfd, readable when the process has ended; -1 if the kernel has none
  descriptor output;
  descriptor errors;
};

/// The program cannot run at all; `exit_code` is a shell's for this case.
struct cannot_start {
  std::string what;
  int exit_code;
};

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
  int why = 0;
  ::ssize_t got = 0;
  do {
    got = ::read(failure.read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
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

}  // namespace pgas::launcher
