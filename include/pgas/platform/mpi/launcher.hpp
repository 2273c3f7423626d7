// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <pgas/platform/setting.hpp>
#include <pgas/support/cores.hpp>
#include <pgas/support/text_of.hpp>
#include <pgas/vocabulary/error.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The launchers of the MPI for which the program is compiled, in the order in which they are tried. Debian
/// installs each MPI's commands under its own name, beside those without one.
#if defined(OPEN_MPI)
inline constexpr std::string_view mpi_name = "Open MPI";
inline constexpr std::array launchers{"mpirun.openmpi", "mpirun"};
#else
inline constexpr std::string_view mpi_name = "MPICH";
inline constexpr std::array launchers{"mpirun.mpich", "mpiexec.hydra", "mpirun"};
#endif

/// Returns whether a launcher of MPI has started this process: mpirun, mpiexec, srun and their like tell it
/// by a variable of PMI or PMIx.
[[nodiscard]] inline bool is_launched() noexcept {
  for (char const* const variable : {"PMI_RANK", "PMI_ID", "PMI_FD", "PMI_PORT", "PMIX_RANK",
                                     "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "ALPS_APP_PE"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

/// The arguments of this process, the program first.
[[nodiscard]] inline std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::array<char, 4096> path{};
  ::ssize_t const length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0 || words.empty()) {
    throw error(errc::unsupported, -1,
                "run: the program cannot find its own file and arguments in /proc; start it by mpirun");
  }
  words.front().assign(path.data(), static_cast<std::size_t>(length));
  return words;
}

/// The file of a command: the name itself if it has a slash, else the first of that name in PATH, else
/// nothing.
[[nodiscard]] inline std::string file_of(std::string const& command) {
  auto const runs = [](std::string const& file) { return ::access(file.c_str(), X_OK) == 0; };
  if (command.find('/') != std::string::npos) return runs(command) ? command : "";
  char const* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(command);
    if (runs(folder)) return folder;
  }
  return "";
}

/// Replaces this process by a launcher that starts the program `ranks` times, and says so on standard error.
///
/// The program begins again on each rank, so all that it does before `run` happens again. PGAS_MPIRUN names
/// another launcher.
[[noreturn]] inline void start_by_launcher(rank_t ranks) {
  constexpr char const* begun = "PGAS_MPI_BEGUN";
  if (std::getenv(begun) != nullptr) {
    throw error(
        errc::unsupported, -1,
        text_of({"run: the launcher is not the one of ", mpi_name, ", for which the program is compiled; ",
                 "name that launcher in PGAS_MPIRUN, or start the program by it"}));
  }
  auto const given = setting::variable("PGAS_MPIRUN");
  std::string file;
  std::string names;
  if (given.given()) {
    names = given.text();
    file = file_of(names);
  } else {
    for (char const* const name : launchers) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      if (file.empty()) file = file_of(name);
    }
  }
  if (file.empty()) {
    throw error(
        errc::unsupported, -1,
        text_of({"run: ", ranks, " ranks need a launcher of ", mpi_name,
                 ", and there is none of these: ", names, "; install it, or name it in PGAS_MPIRUN"}));
  }
  std::vector<std::string> words{file, "-n", std::to_string(ranks)};
#if defined(OPEN_MPI)
  if (ranks > available_cores()) words.emplace_back("--oversubscribe");
#endif
  for (auto& word : own_command()) words.push_back(std::move(word));
  std::string shown;
  std::vector<char*> arguments;
  for (auto& word : words) {
    shown += " " + word;
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::setenv(begun, "1", 1);
  std::fflush(nullptr);
  std::fprintf(stderr, "pgas: starts the ranks by%s\n", shown.c_str());
  ::execv(file.c_str(), arguments.data());
  throw error(
      errc::unsupported, -1,
      text_of({"run: ", file, " cannot be started: ", std::strerror(errno), "; start the program by it"}));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
