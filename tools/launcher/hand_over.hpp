// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <launcher/hosts.hpp>
#include <launcher/needed_libraries.hpp>
#include <launcher/options.hpp>
#include <launcher/processes.hpp>
#include <launcher/remote_shell.hpp>
#include <pgas/detail/mpi/implementation.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::launcher {

namespace detail {

using pgas::detail::text_of;
namespace mpi = pgas::detail::mpi;

/// The MPI to whose library a program is linked. The library's name says it: MPICH and its descendants, such
/// as those of Intel and Cray, agree on libmpi.so.12; Open MPI has had 0, 1, 20 and 40.
inline mpi::implementation const& mpi_of(std::string const& program) {
  for (std::string const& library : needed_libraries(program)) {
    if (library.starts_with("libmpich.") || (library.starts_with("libmpi") && library.ends_with(".so.12")))
      return mpi::mpich;
    for (char const* const known : {"libmpi.so.40", "libmpi.so.20", "libmpi.so.1", "libmpi.so.0"}) {
      if (library == known) return mpi::open_mpi;
    }
  }
  throw error(errc::unsupported, -1,
              text_of({"--hosts: ", pgas::detail::in_quotes(program),
                       " is linked to no library of MPI, and only programs on MPI span hosts; ",
                       "compile it for the backend mpi, with pgas_mpi_dep"}));
}

/// The file of the program, whole, since the launcher on another host may look elsewhere.
inline std::string file_of_program(char const* given) {
  std::string const file = mpi::file_of(given);
  if (!file.empty()) return std::filesystem::absolute(file).lexically_normal().string();
  bool const exists =
      std::string_view(given).find('/') != std::string_view::npos && ::access(given, F_OK) == 0;
  throw cannot_start{.what = text_of({"cannot run ", given, ": ", std::strerror(exists ? EACCES : ENOENT)}),
                     .exit_code = exists ? 126 : 127};
}

/// "a:4,b:4", or "a,b" without numbers.
inline std::string list_of(std::vector<host> const& hosts, bool with_numbers) {
  std::string list;
  for (auto const& each : hosts) {
    list += (list.empty() ? "" : ",") + each.name;
    if (with_numbers) list += ":" + std::to_string(each.places);
  }
  return list;
}

inline bool is_set(char const* variable) { return std::getenv(variable) != nullptr; }

/// What MPICH's launcher needs to notice a host that has vanished. The user's own remote shell counts, and so
/// does that of a batch system.
inline void watch_hosts_for_mpich() {
  for (char const* const other :
       {"HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC", "SLURM_JOB_ID",
        "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID", "LOADL_STEP_ID"}) {
    if (is_set(other)) return;
  }
  std::string const self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string options(remote_shell_option);
  char const* const given = std::getenv("HYDRA_LAUNCHER_EXTRA_ARGS");
  options.append(" ").append(given != nullptr ? given : "-o ServerAliveInterval=10 -o ServerAliveCountMax=3");
  ::setenv("HYDRA_LAUNCHER", "ssh", 1);
  ::setenv("HYDRA_LAUNCHER_EXEC", self.c_str(), 1);
  ::setenv("HYDRA_LAUNCHER_EXTRA_ARGS", options.c_str(), 1);
}

/// What Open MPI's launcher needs for the same, within half a minute instead of eight.
inline void watch_hosts_for_open_mpi() {
  ::setenv("OMPI_MCA_oob_tcp_keepalive_time", "10", 0);
  ::setenv("OMPI_MCA_oob_tcp_keepalive_intvl", "5", 0);
  ::setenv("OMPI_MCA_oob_tcp_keepalive_probes", "4", 0);
}

/// The launcher's words for hosts and ranks. MPICH and srun also pass the environment on.
inline std::vector<std::string> words_for_srun(options const& o) {
  int const places = o.hosts.front().places;
  for (auto const& each : o.hosts) {
    if (each.places == places) continue;
    throw error(errc::invalid_argument, -1,
                "--hosts: srun gives each host the same number of ranks; leave the numbers out");
  }
  return {"--nodelist=" + list_of(o.hosts, false), "--nodes=" + std::to_string(o.hosts.size()),
          "--ntasks-per-node=" + std::to_string(places), "--ntasks=" + std::to_string(o.ranks)};
}
inline std::vector<std::string> words_for_mpich(options const& o) {
  watch_hosts_for_mpich();
  return {"-hosts", list_of(o.hosts, true), "-n", std::to_string(o.ranks)};
}
inline std::vector<std::string> words_for_open_mpi(options const& o) {
  watch_hosts_for_open_mpi();
  std::vector<std::string> words{"-H", list_of(o.hosts, true), "-n", std::to_string(o.ranks)};
  std::vector<std::string> variables{mpi::begun};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const variable(*entry);
    if (variable.starts_with("PGAS_")) variables.emplace_back(variable.substr(0, variable.find('=')));
  }
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  for (auto const& variable : variables) words.insert(words.end(), {"-x", variable});
  return words;
}

}  // namespace detail

/// Replaces this process by the launcher of the program's MPI, which starts the ranks on the hosts. In an
/// allocation of Slurm that is srun, unless PGAS_MPIRUN names another. Throws pgas::error or cannot_start.
[[noreturn]] inline void hand_over(options const& o) {
  std::string const program = detail::file_of_program(o.program[0]);
  auto const& own_mpi = detail::mpi_of(program);
  std::string file;
  if (detail::is_set("SLURM_JOB_ID") && !pgas::detail::setting::variable("PGAS_MPIRUN").given())
    file = detail::mpi::file_of("srun");
  if (file.empty()) file = own_mpi.launcher("--hosts needs");
  std::vector<std::string> words{file};
  auto const more = std::filesystem::path(file).filename() == "srun" ? detail::words_for_srun(o)
                    : &own_mpi == &detail::mpi::mpich                ? detail::words_for_mpich(o)
                                                                     : detail::words_for_open_mpi(o);
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(program);
  for (char** argument = o.program + 1; *argument != nullptr; ++argument) words.emplace_back(*argument);
  detail::mpi::become(std::move(words), "pgas-run");
}

}  // namespace pgas::launcher
