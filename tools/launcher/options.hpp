// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdio>
#include <launcher/hosts.hpp>
#include <optional>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/text/text.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::launcher {

/// An error of the command line: it names no program, or asks for something impossible.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::string_view usage =
    "usage: pgas-run -n N [--timeout S] [--grace S] [--tag-output] PROGRAM [ARGUMENTS...]\n"
    "       pgas-run -n N --hosts A,B PROGRAM [ARGUMENTS...]";

inline constexpr std::string_view help = R"(
Runs N copies of PROGRAM, the ranks of one job, on this machine or on several hosts. If one fails, ends all.

  -n, --ranks N     the number of ranks
      --hosts A,B   run the ranks on these hosts, each as many; A:6,B:2 gives them these numbers
      --timeout S   end the job after S seconds (default: never)
      --grace S     kill ranks that take more than S seconds to end (default: 2)
      --tag-output  begin every line of output with the number of its rank: [3]
  -h, --help        print this page
      --version     print the version

Each rank finds its number in PGAS_RANK, the number of ranks in PGAS_RANKS, and in PGAS_JOB_FD the
descriptor of the memory through which a pgas program joins the job. Other programs may run, too.
Rank 0 reads standard input; the others read nothing. Output is passed on by whole lines. A line longer
than 1 MiB is passed on in pieces.

If a rank fails, the others may end by themselves for half a second. A pgas program learns of the failure
and has one second more. Then the ranks get SIGTERM and, after the grace period, SIGKILL. Each signal
goes to the rank's process group. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT to pgas-run is passed on
and starts the grace period; the second kills at once. SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed
on. Processes that outlive their rank (daemons, too) end like a rank after the grace period. If SIGKILL
ends pgas-run itself, the ranks die with it, but processes that they have started may stay.
A rank that is stopped before it runs PROGRAM is continued after a second.

With --hosts the launcher of MPI replaces pgas-run and does all this in its own way: PROGRAM must be linked
to MPICH or Open MPI. A line on standard error shows the launcher and its arguments. It is srun in an
allocation of Slurm, else mpirun.mpich, mpiexec.hydra or mpirun for MPICH, and mpirun.openmpi, orterun or
mpirun for Open MPI; PGAS_MPIRUN names another. mpirun reaches the hosts by ssh, and a host that does not
answer for half a minute ends the job. HYDRA_LAUNCHER_EXTRA_ARGS, with options of ssh, and
OMPI_MCA_oob_tcp_keepalive_time, _intvl and _probes set another time.

Exit status: 0 if all ranks ended with 0; else that of the first rank that failed, or 128 + the number of
the signal that killed it; 124 after the timeout; 128 + the number of a signal to pgas-run; 126 if PROGRAM
cannot be run, 127 if it does not exist; 2 for a wrong command line; with --hosts that of the launcher.
)";

struct options {
  int ranks = 0;
  std::vector<host> hosts;  ///< none: this machine
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{2000};
  bool tag_output = false;
  bool show_help = false;
  bool show_version = false;
  char** program = nullptr;  ///< its name and arguments, in the form that exec takes
};

namespace detail {

using pgas::detail::setting;

/// The value that read() returns. A value that is not allowed is a usage error.
template <class Read>
auto allowed(Read const& read) {
  try {
    return read();
  } catch (pgas::error const& e) {
    throw usage_error(e.description());
  }
}

inline int parse_ranks(std::string_view option, std::string_view text) {
  return static_cast<int>(
      allowed([&] { return setting(option, text).whole("a number of ranks", 1, 1'000'000); }));
}

inline std::chrono::milliseconds parse_seconds(std::string_view option, std::string_view text) {
  std::chrono::duration<double> const given(allowed([&] { return setting(option, text).seconds(); }));
  return std::chrono::ceil<std::chrono::milliseconds>(given);
}

}  // namespace detail

/// A time in seconds, as users write it: "0.5".
inline std::string seconds_of(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::chrono::duration<double>(time).count());
  return text;
}

/// Reads the command line up to the program's name. The rest belongs to the program. Throws usage_error.
inline options parse(int argc, char** argv) {
  options result;
  std::string for_one_machine;  // an option that no launcher of MPI takes
  int at = 1;
  for (; at < argc; ++at) {
    std::string_view const word = argv[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;

    std::string_view name = word;
    std::optional<std::string_view> attached;
    if (auto const equals = word.find('='); word.starts_with("--") && equals != word.npos) {
      name = word.substr(0, equals);
      attached = word.substr(equals + 1);
    } else if (word.starts_with("-n") && word.size() > 2) {  // -n4
      name = word.substr(0, 2);
      attached = word.substr(2);
    }
    auto const value = [&] {
      if (attached) return *attached;
      if (at + 1 == argc) throw usage_error(std::string(name) + " needs a value");
      return std::string_view(argv[++at]);
    };
    auto const flag = [&] {
      if (attached) throw usage_error(std::string(name) + " takes no value");
      return true;
    };

    if (name == "-n" || name == "--ranks") {
      result.ranks = detail::parse_ranks(name, value());
    } else if (name == "--hosts") {
      result.hosts = detail::allowed([&] { return parse_hosts(value()); });
    } else if (name == "--timeout") {
      result.timeout = detail::parse_seconds(name, value());
      if (result.timeout->count() == 0) throw usage_error("--timeout must be more than 0 seconds");
    } else if (name == "--grace") {
      result.grace = detail::parse_seconds(name, value());
    } else if (name == "--tag-output") {
      result.tag_output = flag();
    } else if (name == "-h" || name == "--help") {
      result.show_help = flag();
    } else if (name == "--version") {
      result.show_version = flag();
    } else {
      throw usage_error("unknown option " + pgas::detail::in_quotes(word));
    }
    if (name == "--timeout" || name == "--grace" || name == "--tag-output") for_one_machine = name;
  }
  if (result.show_help || result.show_version) return result;
  if (result.ranks == 0) throw usage_error("say how many ranks to run: -n N");
  if (at >= argc || argv[at][0] == '\0') throw usage_error("say which program to run");
  result.program = argv + at;
  if (!result.hosts.empty()) {
    if (!for_one_machine.empty())
      throw usage_error(for_one_machine + " is for one machine; leave it out, or name no --hosts");
    detail::allowed([&] { return divide(result.hosts, result.ranks); });
  }
  return result;
}

}  // namespace pgas::launcher
