// SPDX-License-Identifier: BSL-1.0
// A small pgas program for the attack on inherited state: program WHAT [HOST]. HOST is what the program
// around run does. The exit code is 0 if the job has ended well, 3 after a pgas::error.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <pgas/backends/pool_map.hpp>
#include <pgas/core.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using team_type = pgas::team<pgas::backends::process_map>;

void require(bool condition, char const* promise) {
  if (!condition) throw std::runtime_error(std::string("broken: ") + promise);
}

/// Puts in a ring and adds up.
template <class Team>
void ring(Team& team) {
  auto w = pgas::make_window<int>(team, 2000);
  pgas::rank_t const next = (team.rank() + 1) % team.size();
  pgas::fence epoch{w};
  for (std::size_t i = 0; i < 2000; ++i) epoch.put(next, i, team.rank());
  epoch.next();
  int const told = epoch.get(team.rank(), 1999);
  epoch.close();
  int const sum = team.all_reduce(told, pgas::op::sum{});
  require(sum == team.size() * (team.size() - 1) / 2, "the ranks add up");
  if (team.rank() == 0) {
    std::printf("sum %d\n", sum);
    std::fflush(stdout);
  }
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// A process that rank 1 leaves behind, as a daemon does.
void leave_process(team_type& team) {
  if (team.rank() == 1 && ::fork() == 0) {
    ::setsid();
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      ::signal(SIGTERM, SIG_IGN);
      for (;;) ::pause();
    }
    ::_exit(0);
  }
  team.barrier();
}

/// Closes all descriptors, opens an own file under each number that one had, and uses windows. The file must
/// keep its bytes and its blocks.
void close_all(team_type& team) {
  for (int fd = 3; fd < 256; ++fd) ::close(fd);
  char name[] = "environment-XXXXXX";
  int const first = ::mkstemp(name);
  require(first >= 0, "a file can be made");
  ::unlink(name);
  std::vector<char> const mark(1U << 22U, 'm');
  require(::write(first, mark.data(), mark.size()) == static_cast<::ssize_t>(mark.size()),
          "the file is written");
  for (int fd = first + 1; fd < 64; ++fd) ::dup2(first, fd);
  struct ::stat before {};
  ::fstat(first, &before);
  for (int round = 0; round < 3; ++round) {
    auto large = pgas::make_window<char>(team, std::size_t{1} << 20U);
    require(large.local()[12345] == 0, "new memory is zero");
    pgas::fence epoch{large};
    epoch.put((team.rank() + 1) % team.size(), 12345, 'x');
    epoch.close();
  }
  ring(team);
  struct ::stat after {};
  require(
      ::fstat(first, &after) == 0 && after.st_size == before.st_size && after.st_blocks == before.st_blocks,
      "the program's file keeps its blocks");
  std::vector<char> now(mark.size());
  require(::pread(first, now.data(), now.size(), 0) == static_cast<::ssize_t>(now.size()) && now == mark,
          "the program's file keeps its bytes");
}

/// The pages of the job's mapping that a core dump of this process would show.
std::uint64_t dumped_bytes() {
  std::ifstream maps("/proc/self/smaps");
  std::uint64_t dumped = 0;
  std::uint64_t size = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:pgas") != line.npos) {
      ours = true;
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      require(std::sscanf(line.c_str(), "%lx-%lx", &first, &last) == 2, "smaps has ranges");
      size = last - first;
    }
    if (ours && line.starts_with("VmFlags:")) {
      if (line.find(" dd") == line.npos) dumped += size;
      ours = false;
    }
  }
  return dumped;
}

void dump(team_type& team) {
  auto w = pgas::make_window<char>(team, std::size_t{1} << 20U);
  auto const bytes = dumped_bytes();
  team.barrier();
  if (team.rank() == 0) std::printf("dumped %llu\n", static_cast<unsigned long long>(bytes));
}

/// Prints the kinds of all descriptors from 3 on.
void descriptors(team_type& team) {
  for (int fd = 3; fd < 256 && team.rank() == team.size() - 1; ++fd) {
    char kind[64] = {};
    if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), kind, sizeof kind - 1) > 0)
      std::printf("open %d %s\n", fd, kind);
  }
}

/// Rank 1 dies in the middle of its record of a failure: the text ends in memory that cannot be read.
int die_while_recording() {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const text = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(text, 't', page);
  ::mprotect(text + page, page, PROT_NONE);
  auto const job = pgas::detail::job::create(3);
  pgas::detail::run_processes(job, [&](pgas::detail::job const& mine) {
    if (mine.rank() == 1) mine.mark_failed(1, {text + page - 8, 100});
    mine.fence();
  });
  return 0;
}

/// The work of the program around run: it changes how it takes its children's ends, or its descriptors.
void be_host(std::string const& host) {
  struct ::sigaction action {};
  if (host == "ignore") ::signal(SIGCHLD, SIG_IGN);
  if (host == "nocldwait") {
    action.sa_handler = SIG_DFL;
    action.sa_flags = SA_NOCLDWAIT;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
  if (host == "handler") {
    action.sa_handler = [](int) {
      int const before = errno;
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
      errno = before;
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
  if (host == "thief") {
    std::thread([] {
      for (;;) {
        if (::waitpid(-1, nullptr, 0) < 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }).detach();
  }
  if (host == "timer") {  // interrupts every system call
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    ::itimerval const often{.it_interval = {.tv_sec = 0, .tv_usec = 2000},
                            .it_value = {.tv_sec = 0, .tv_usec = 2000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
}

/// An object of a program whose destructor throws what a call of the library has thrown.
struct careless {
  ~careless() noexcept {  // NOLINT(bugprone-exception-escape): that is the mistake
    pgas::rank_t const nobody = 9;
    static_cast<void>(team.world_rank(nobody));
  }
  team_type& team;
};

/// A job that fails in a program that catches nothing.
void fail_uncaught(std::string const& how) {
  if (how == "handler") {
    std::set_terminate([] {
      std::fprintf(stderr, "the program's own handler\n");
      std::_Exit(7);
    });
  }
  std::printf("said\n");  // in a buffer
  pgas::run<pgas::backends::process_map>(3, [&](team_type& team) {
    if (how == "index") {
      auto w = pgas::make_window<int>(team, 2);
      pgas::fence epoch{w};
      if (team.rank() == 1) epoch.put(0, 7, 1);
    }
    if (team.rank() == 1 && how == "destructor") careless const object{team};
    if (team.rank() == 1 && (how == "throw" || how == "handler")) throw std::runtime_error("the tea is cold");
    team.barrier();
  });
  if (how == "thread") {
    std::thread([] { throw pgas::error(pgas::errc::bad_file, -1, "the tea is gone"); }).join();
  }
  if (how == "other") throw std::runtime_error("the tea is not of the library");
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "ring";
  if (what == "uncaught") return fail_uncaught(argv[2]), 0;
  be_host(argc > 2 ? argv[2] : "");
  try {
    if (what == "record") return die_while_recording();
    if (what == "pool") {  // twice, since each run locks its memory anew
      for (int run = 0; run < 2; ++run) {
        pgas::run<pgas::backends::pool_map>(3, [&](auto& team) {
          ring(team);
          if (argc > 2) ::usleep(400'000);
        });
      }
      return 0;
    }
    pgas::run<pgas::backends::process_map>(3, [&](team_type& team) {
      if (what == "ring told" && team.rank() == 1) {
        ::kill(::getppid(), std::atoi(argv[2]));
        ::usleep(300'000);
      }
      if (what == "ring" || what == "ring told") ring(team);
      if (what == "close") close_all(team);
      if (what == "dump") dump(team);
      if (what == "descriptors") descriptors(team);
      if (what == "children") leave_process(team);
      if (what == "hold") {  // until something else ends the job
        leave_process(team);
        if (team.rank() == 0) {
          std::printf("ready\n");
          std::fflush(stdout);
        }
        for (;;) ::pause();
      }
      if (what == "lost") {
        leave_process(team);
        if (team.rank() == 1) die();
      }
      if (what == "die") {
        if (team.rank() == 1) die();
        team.barrier();
      }
      if (what == "supervisor") {
        if (team.rank() == 1) ::kill(::getppid(), SIGKILL);
        for (;;) ::pause();
      }
      if (what == "return" || what == "throw") {  // a forked process leaves the body
        team.barrier();
        if (team.rank() == 1 && ::fork() == 0) {
          if (what == "throw") throw std::runtime_error("of a forked process");
          return;
        }
        if (team.rank() == 1) {
          for (;;) ::pause();
        }
        team.barrier();  // throws
      }
      if (what == "told" || what == "told twice") {  // a process asks the supervisor to end
        int const signal = std::atoi(argv[2]);
        if (team.rank() == 1) ::kill(::getppid(), signal);
        if (team.rank() == 1 && what == "told twice") {
          ::usleep(300'000);
          ::kill(::getppid(), signal);
        }
        if (team.rank() == 2) team.barrier();
        ::signal(SIGTERM, SIG_IGN);  // ranks that compute, and do not end by themselves
        for (;;) ::pause();
      }
      if (what == "again") {  // another program joins as this rank
        team.barrier();
        if (team.rank() == 1) {
          int const status = std::system((std::string(argv[0]) + " ring").c_str());  // NOLINT(cert-env33-c)
          require(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the second process of a rank is refused");
        }
        team.barrier();
        ring(team);
      }
    });
    if (what == "close") {  // the program's own descriptors, after the job
      int const own = ::open("/dev/null", O_RDWR);
      pgas::run<pgas::backends::process_map>(3, [&](team_type& team) { ring(team); });
      require(::fcntl(own, F_GETFD) >= 0, "the program's descriptors stay open");
    }
  } catch (pgas::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
}
