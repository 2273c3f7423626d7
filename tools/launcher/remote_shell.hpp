// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::launcher {

/// The first argument for remote_shell() among those of MPICH's launcher.
inline constexpr std::string_view remote_shell_option = "--remote-shell";

/// Returns whether MPICH's launcher has started this process in place of ssh: `pgas-run -x --remote-shell
/// OPTIONS HOST COMMAND`.
inline bool is_remote_shell(int argc, char** argv) {
  return argc > 2 && std::string_view(argv[1]) == "-x" && argv[2] == remote_shell_option;
}

/// Runs ssh, and ends MPICH's launcher if the connection is lost. Returns the exit code of ssh.
///
/// The launcher waits for ever for a host that has vanished without a word: its connections have no keepalive
/// (MPICH 4.0.2), and it does not look at the end of ssh. So ssh asks the host whether it is there, by its
/// option ServerAliveInterval, and ends with 255 if no answer comes. The launcher ends all ranks at the
/// second SIGTERM; at the first it waits for answers, also of the host that has vanished.
inline int remote_shell(int argc, char** argv) {
  std::vector<char*> arguments{argv + 2, argv + argc};
  std::string ssh("ssh");
  std::string no_display("-x");
  arguments[0] = no_display.data();
  arguments.insert(arguments.begin(), ssh.data());
  arguments.push_back(nullptr);

  ::pid_t const launcher = ::getppid();
  ::pid_t const shell = ::fork();
  if (shell == 0) {
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "pgas-run: cannot run ssh: %s\n", std::strerror(errno));
    ::_exit(255);
  }
  int status = 0;
  while (shell > 0 && ::waitpid(shell, &status, 0) < 0 && errno == EINTR) {}
  if (shell > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 255) return WEXITSTATUS(status);

  std::fprintf(stderr, "pgas-run: ssh has no connection to a host, see its words above; ending the job\n");
  for (int const signal : {SIGTERM, SIGTERM, SIGKILL}) {
    if (::getppid() != launcher) break;
    ::kill(launcher, signal);
    for (int i = 0; i < 100 && ::getppid() == launcher; ++i) ::usleep(10'000);
  }
  return 255;
}

}  // namespace pgas::launcher
