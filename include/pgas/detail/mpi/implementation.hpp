// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

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

/// An MPI and its launchers, in the order in which they are tried. Debian installs each MPI's commands under
/// its own name, besides those without one. `pgas-run`, which is not compiled for MPI, reads it too.
struct implementation {
  std::string_view name;
  std::array<char const*, 3> launchers;

  /// The file of a launcher: the one that PGAS_MPIRUN names, else the first that is there. `why` begins the
  /// message of the error if there is none: "run: 4 ranks need".
  [[nodiscard]] std::string launcher(std::string_view why) const {
    auto const given = setting::variable("PGAS_MPIRUN");
    std::string file;
    std::string names;
    if (given.given()) {
      names = given.text();
      file = file_of(names);
    } else {
      for (char const* const each : launchers) {
        names.append(names.empty() ? "" : ", ").append(each);
        if (file.empty()) file = file_of(each);
      }
    }
    if (file.empty()) {
      throw error(errc::unsupported, -1,
                  text_of({why, " a launcher of ", name, ", and there is none of these: ", names,
                           "; install it, or name it in PGAS_MPIRUN"}));
    }
    return file;
  }
};
inline constexpr implementation mpich{"MPICH", {"mpirun.mpich", "mpiexec.hydra", "mpirun"}};
inline constexpr implementation open_mpi{"Open MPI", {"mpirun.openmpi", "orterun", "mpirun"}};

/// This variable tells a process that a launcher should have started it as one of several.
inline constexpr char const* begun = "PGAS_MPI_BEGUN";

/// Replaces this process by a launcher, and says so on standard error in a line that begins with `who`.
[[noreturn]] inline void become(std::vector<std::string> words, std::string_view who) {
  std::string shown;
  std::vector<char*> arguments;
  for (auto& word : words) {
    shown += " " + word;
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::setenv(begun, "1", 1);
  std::fflush(nullptr);
  std::fprintf(stderr, "%s: starts the ranks by%s\n", std::string(who).c_str(), shown.c_str());
  ::execv(arguments[0], arguments.data());
  throw error(
      errc::unsupported, -1,
      text_of({words[0], " cannot be started: ", std::strerror(errno), "; name another in PGAS_MPIRUN"}));
}

}  // namespace PGAS_NAMESPACE::detail::mpi
