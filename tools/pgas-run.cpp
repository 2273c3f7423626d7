// SPDX-License-Identifier: BSL-1.0
// Starts the ranks of a job: pgas-run -n N [--hosts A,B] PROGRAM ARGUMENTS...
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <launcher/hand_over.hpp>
#include <launcher/remote_shell.hpp>
#include <launcher/supervisor.hpp>

#ifndef PGAS_VERSION
#define PGAS_VERSION "0.2.0"
#endif

namespace {

using namespace pgas::launcher;

/// Ends what the ranks that did start have left: a rank may have forked meanwhile.
void end_orphans() {
  for (int times = 0; times < 40; ++times) {
    auto const left = pgas::detail::descendants();
    for (auto const& each : left) ::kill(each.pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
    if (left.empty()) return;
    ::usleep(5000);
  }
}

/// Starts all ranks. If one cannot be started, ends the others and throws what start() threw.
std::vector<started_rank> start_all(options const& o, start_conditions const& with, int terminal_input) {
  descriptor const nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.get() < 0) throw_errno("cannot open /dev/null");
  std::vector<started_rank> ranks;
  try {
    for (int rank = 0; rank < o.ranks; ++rank) {
      ranks.push_back(start(rank, with, rank == 0 ? terminal_input : nothing.get()));
    }
  } catch (...) {
    for (auto const& rank : ranks) {
      ::kill(-rank.pid, SIGKILL);
      ::kill(rank.pid, SIGKILL);  // also if it has left its group
    }
    for (auto const& rank : ranks) ::waitpid(rank.pid, nullptr, 0);
    end_orphans();
    throw;
  }
  return ranks;
}

int launch(options const& o) {
  tidy_descriptors();
  start_conditions with;
  with.program = o.program;
  with.ranks = o.ranks;
  with.descriptor_limit = raise_descriptor_limit();
  if (o.timeout) {
    with.deadline = std::chrono::steady_clock::now() + *o.timeout;
    with.timeout = seconds_of(*o.timeout);
  }

  // Signals are blocked until the supervisor handles them. Ranks get the launcher's original mask.
  ::signal(SIGCHLD, SIG_DFL);  // if ignored, exit codes would be lost
  signals_of_interest const signals;
  ::sigprocmask(SIG_BLOCK, &signals.set(), &with.signal_mask);

  // The ranks' orphans become this process' children, not init's, and can be found.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  job_hook const job(o.ranks);
  with.job_fd = job.fd();
  pipe_ends terminal;
  if (::isatty(0) != 0) terminal = make_pipe();
  auto ranks = start_all(o, with, terminal.read.get());
  terminal.read.reset();

  ::signal(SIGPIPE, SIG_IGN);  // after the ranks' start: SIGPIPE must still end them
  supervisor watching(o, job, std::move(ranks), std::move(terminal.write), signals);
  ::sigprocmask(SIG_UNBLOCK, &signals.set(), nullptr);
  return watching.run();
}

int complain(char const* what, int exit_code) {
  std::fprintf(stderr, "pgas-run: %s\n", what);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (is_remote_shell(argc, argv)) return remote_shell(argc, argv);
    options const o = parse(argc, argv);
    if (o.show_help) {
      std::printf("%s\n%s", usage.data(), help.data());
      return 0;
    }
    if (o.show_version) {
      std::puts("pgas-run " PGAS_VERSION);
      return 0;
    }
    if (!o.hosts.empty()) hand_over(o);
    return launch(o);
  } catch (usage_error const& e) {
    complain(e.what(), 2);
    std::fprintf(stderr, "%s\n", usage.data());
    return 2;
  } catch (cannot_start const& e) {
    return complain(e.what.c_str(), e.exit_code);
  } catch (pgas::error const& e) {
    return complain(e.description().c_str(), e.code() == pgas::errc::invalid_argument ? 2 : 1);
  } catch (std::exception const& e) {
    return complain(e.what(), 1);
  }
}
