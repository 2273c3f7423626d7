// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>

namespace pgas_test {

/// The resources that a job must not leave behind: named shared memory, descriptors, child processes.
class leftovers {
 public:
  leftovers() : files_(names_in("/dev/shm")), descriptors_(names_in("/proc/self/fd").size()) {}

  /// Fails the current case for each such resource that exists now and did not when this object was made.
  void check(std::string const& after) const {
    for (auto const& name : names_in("/dev/shm")) {
      // Another test's Open MPI names its files after the host, whatever that is called.
      bool const is_of_mpi = name.starts_with("vader_segment.");
      if (!is_of_mpi && name.find("pgas") != std::string::npos)
        CHECK_MESSAGE(files_.contains(name), after, ": left /dev/shm/", name);
    }
    CHECK_MESSAGE(names_in("/proc/self/fd").size() == descriptors_, after, ": descriptors");
    errno = 0;
    CHECK_MESSAGE((::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD), after, ": a child process");
  }

 private:
  static std::set<std::string> names_in(char const* folder) {
    std::set<std::string> names;
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(folder, ignored))
      names.insert(entry.path().filename().string());
    return names;
  }

  std::set<std::string> files_;
  std::size_t descriptors_;
};

/// Measures elapsed time.
class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace pgas_test
