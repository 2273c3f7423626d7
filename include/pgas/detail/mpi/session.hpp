// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/detail/mpi/implementation.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/uncaught.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

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

/// MPI in this process. The program may have initialized it, at any level of threads. Otherwise the first job
/// does, and the end of the process finalizes it: MPI cannot be initialized twice.
class session {
 public:
  /// Initializes MPI unless the program has done so.
  static session& begin() {
    static session here;
    refuse_finalized();
    return here;
  }

  /// Returns whether this process is one of several that MPI runs, or is about to be.
  [[nodiscard]] static bool is_there() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    return initialized != 0 || is_launched();
  }

  /// The number of processes that a launcher of MPI has started, or nothing if none has started this one and
  /// the program has not initialized MPI.
  [[nodiscard]] static std::optional<int> launched_ranks() {
    if (!is_there()) return std::nullopt;
    begin();
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }

  /// A number that no earlier job of these processes has. Messages that a failed job leaves behind could else
  /// reach a later one, since MPI numbers its communicators anew. Collective.
  int new_job_number(MPI_Comm ranks) {
    int& last = one_per_process<of_process>().last_number;
    int const mine = last + 1;
    check_call(MPI_Allreduce(&mine, &last, 1, MPI_INT, MPI_MAX, ranks), "MPI_Allreduce");
    return last;
  }

  /// Marks a job of this process, which must not exit before the job's end.
  void enter_job() noexcept { ++jobs_; }
  void leave_job() noexcept { --jobs_; }
  /// Keeps the memory of operations that a failure has left under way. MPI may still write there.
  void keep(std::vector<std::shared_ptr<void const>> memory) {
    for (auto& each : memory) one_per_process<of_process>().kept.push_back(std::move(each));
  }

 private:
  /// What the sessions of all shared objects share. The first session is the one that finalizes MPI.
  struct of_process {
    static constexpr std::string_view shared_name = "sessions of MPI";
    int last_number = 0;
    std::vector<std::shared_ptr<void const>> kept;
  };

  static void refuse_finalized() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    uncaught_errors::end_all_by([]() noexcept { abort_unless_finalized(); });
    if (finalized != 0)
      throw error(errc::wrong_order, -1,
                  "run: MPI is finalized in this process; call MPI_Finalize after run, and run before "
                  "destructors of static objects");
  }
  session() {
    refuse_finalized();
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) return;
#if defined(OPEN_MPI)
    // The component rdma of Open MPI 4.1 crashes in MPI_Compare_and_swap between ranks of one node (issues
    // 7027 and 9146 of open-mpi/ompi; seen with 4.1.4). The user's own choice of a component counts.
    ::setenv("OMPI_MCA_osc", "^rdma", 0);
#endif
    int level = MPI_THREAD_SINGLE;
    check_call(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    is_ours_ = true;
  }
  /// Ends the other processes with this one, which might wait for it.
  static void abort_unless_finalized() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) abort_all(MPI_COMM_WORLD);
  }
  ~session() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    if (jobs_ != 0) {
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      std::fprintf(stderr, "pgas: rank %d has ended before its body returned; return from the body instead\n",
                   rank);
      abort_all(MPI_COMM_WORLD);
    }
    if (is_ours_) MPI_Finalize();
  }

 public:
  session(session const&) = delete;
  session& operator=(session const&) = delete;

 private:
  bool is_ours_ = false;
  int jobs_ = 0;  ///< that this process is in
};

}  // namespace PGAS_NAMESPACE::detail::mpi
