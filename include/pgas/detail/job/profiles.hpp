// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

// Functions of the runtimes that count how often code runs. Each address is null if the program is not
// compiled for that.
[[gnu::weak]] void write_counts_of_gcc() __asm__("__gcov_exit");
[[gnu::weak]] void write_counts_of_clang() __asm__("__gcov_dump");
[[gnu::weak]] int write_profile_of_llvm() __asm__("__llvm_profile_write_file");
[[gnu::weak]] void reset_profile_of_llvm() __asm__("__llvm_profile_reset_counters");
[[gnu::weak]] void name_profile_of_llvm(char const* pattern) __asm__("__llvm_profile_set_filename");
[[gnu::weak]] char const* profile_name_of_llvm() __asm__("__llvm_profile_get_filename");
[[gnu::weak]] int llvm_counts_in_file() __asm__("__llvm_profile_is_continuous_mode_enabled");

/// Forks. The child begins with counts of 0: the compilers replace a fork in a program that counts. g++ does
/// so by this name also where names of POSIX mean nothing to it (-std=c++20).
inline ::pid_t fork_with_counts() noexcept {
#if defined(__GNUC__) && !defined(__clang__)
  return __builtin_fork();
#else
  return ::fork();
#endif
}

/// How often a rank's code has run, for a process that skips the program's exit handlers: --coverage and
/// -fprofile-generate, and -fprofile-instr-generate of clang.
///
/// gcov adds up the files of all processes, and its fork begins new counts in the child. LLVM's profile has a
/// name that its first process has read. A name with %m is one file into which all processes add up. If the
/// program has another one, its ranks get such a name beside it: NAME.ranks_%m.profraw.
class profile_of_rank {
 public:
  /// In a process that was just forked.
  static void begin() noexcept {
    if (write_profile_of_llvm == nullptr || counts_in_file()) return;
    if (reset_profile_of_llvm != nullptr) reset_profile_of_llvm();
    if (name_profile_of_llvm == nullptr || profile_name_of_llvm == nullptr || adds_up()) return;
    try {
      std::string name = profile_name_of_llvm();
      if (std::size_t const end = name.rfind(".profraw"); end != std::string::npos) name.resize(end);
      name_profile_of_llvm((name + ".ranks_%m.profraw").c_str());
    } catch (std::bad_alloc const&) {  // the rank then writes over the program's profile
    }
  }
  /// Before the process ends.
  static void write() noexcept {
    if (write_counts_of_clang != nullptr) {
      write_counts_of_clang();
    } else if (write_counts_of_gcc != nullptr) {
      write_counts_of_gcc();
    }
    if (write_profile_of_llvm != nullptr && !counts_in_file()) write_profile_of_llvm();
  }

 private:
  /// Returns whether the file itself holds the counts of all processes (%c).
  static bool counts_in_file() noexcept {
    return llvm_counts_in_file != nullptr && llvm_counts_in_file() != 0;
  }
  /// Returns whether all processes add up in the file that the user has named.
  static bool adds_up() noexcept {
    char const* pattern = std::getenv("LLVM_PROFILE_FILE");
    if (pattern == nullptr) return false;
    while ((pattern = std::strchr(pattern, '%')) != nullptr) {
      pattern += 1;
      while (*pattern >= '0' && *pattern <= '9') ++pattern;
      if (*pattern == 'm') return true;
    }
    return false;
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
