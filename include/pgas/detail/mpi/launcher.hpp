// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <pgas/detail/job/core_limit.hpp>
#include <pgas/detail/mpi/implementation.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The MPI for which the program is compiled.
#if defined(OPEN_MPI)
inline constexpr implementation const& own_mpi = open_mpi;
#else
inline constexpr implementation const& own_mpi = mpich;
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

/// Replaces this process by a launcher that starts the program `ranks` times, and says so on standard error.
///
/// The program begins again on each rank, so all that it does before `run` happens again. PGAS_MPIRUN names
/// another launcher.
[[noreturn]] inline void start_by_launcher(rank_t ranks) {
  if (std::getenv(begun) != nullptr) {
    throw error(errc::unsupported, -1,
                text_of({"run: the launcher is not the one of ", own_mpi.name,
                         ", for which the program is compiled; ",
                         "name that launcher in PGAS_MPIRUN, or start the program by it"}));
  }
  std::string const file = own_mpi.launcher(text_of({"run: ", ranks, " ranks need"}));
  std::vector<std::string> words{file, "-n", std::to_string(ranks)};
#if defined(OPEN_MPI)
  if (ranks > available_cores()) words.emplace_back("--oversubscribe");
#endif
  for (auto& word : own_command()) words.push_back(std::move(word));
  become(std::move(words), "pgas");
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
