// SPDX-License-Identifier: BSL-1.0
// A program that does not use pgas, for the launcher's tests: probe WHAT [NUMBER].
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string rank() {
  char const* const text = std::getenv("PGAS_RANK");
  return text != nullptr ? text : "none";
}

void write_all(std::string const& text) {
  for (std::size_t at = 0; at < text.size();) {
    auto const n = ::write(1, text.data() + at, text.size() - at);
    if (n <= 0) std::exit(9);
    at += static_cast<std::size_t>(n);
  }
}

/// Prints `lines` lines of known form and many lengths, in writes that do not end at line ends.
void chat(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "rank=" + rank() + " line=" + std::to_string(i) + ' ' +
            std::string(static_cast<std::size_t>(i * 37 % 201), 'x') + "|\n";
  }
  for (std::size_t at = 0, n = 1; at < text.size(); at += n, n = n * 7 % 97 + 1)
    write_all(text.substr(at, n));
}

/// Prints the open descriptors, except the one that reads the list, and the value of PGAS_JOB_FD.
void descriptors() {
  ::DIR* const folder = ::opendir("/proc/self/fd");
  std::string list;
  for (int fd = 0; fd < 4096; ++fd) {
    if (fd != ::dirfd(folder) && ::fcntl(fd, F_GETFD) >= 0) list += ' ' + std::to_string(fd);
  }
  ::closedir(folder);
  std::printf("open:%s job: %s\n", list.c_str(), std::getenv("PGAS_JOB_FD"));
}

/// Prints the parts of the launcher's signal handling that a rank could have inherited by mistake.
void signals() {
  ::sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  std::string blocked;
  std::string ignored;
  for (int s = 1; s < 32; ++s) {
    if (::sigismember(&mask, s) == 1) blocked += ' ' + std::to_string(s);
    struct ::sigaction action;
    if (::sigaction(s, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ignored += ' ' + std::to_string(s);
  }
  std::printf("blocked:%s ignored:%s\n", blocked.c_str(), ignored.c_str());
}

void say_signal(int signal) {
  std::string const text = "rank " + rank() + " got " + std::to_string(signal) + '\n';
  [[maybe_unused]] auto const n = ::write(1, text.data(), text.size());
}

/// Waits until it is killed, and prints each signal that it gets. With stay = false, the first signal ends
/// it.
void wait_for_signals(bool stay) {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);  // no signal arrives between two waits
  for (int const s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(s, say_signal);
  write_all("ready\n");
  do {
    ::sigsuspend(&before);
  } while (stay);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  int const number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what == "chat") {
    chat(number);
  } else if (what == "flood") {  // until no process reads
    for (;;) write_all(std::string(1000, 'f') + '\n');
  } else if (what == "bytes") {
    write_all(std::string(static_cast<std::size_t>(number) - 1, 'b') + '\n');
  } else if (what == "descriptors") {
    descriptors();
  } else if (what == "signals") {
    signals();
  } else if (what == "wait") {
    wait_for_signals(number != 0);
  } else if (what == "daemon") {  // leaves a process in a session of its own that holds the output open
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) {
        ::signal(SIGTERM, SIG_IGN);
        write_all("daemon " + std::to_string(::getpid()) + '\n');
        ::sleep(300);
      }
      ::_exit(0);
    }
    ::wait(nullptr);
  } else {
    return 99;
  }
}
