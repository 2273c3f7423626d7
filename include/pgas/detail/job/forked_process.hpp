// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iosfwd>
#include <new>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

// Functions that the program may lack: their addresses are null if no library has them. libc warns about
// dlopen in each static program, so it is found by dlsym.
[[gnu::weak]] int pause_openmp_of_program(int kind) noexcept __asm__("omp_pause_resource_all");
[[gnu::weak]] void* find_symbol(void* library, char const* name) noexcept __asm__("dlsym");

/// Ends the threads that this thread's parallel regions of OpenMP have left for the next one. The next region
/// starts new ones.
///
/// A fork copies this thread alone. g++'s runtime would still count on the others in each child, and the
/// first parallel region there would wait for them forever. LLVM's runtime handles this itself. The pause is
/// soft: threadprivate data stay where the runtime can keep them.
inline void end_threads_of_openmp() noexcept {
  constexpr int soft = 1;
  if (pause_openmp_of_program != nullptr) {
    pause_openmp_of_program(soft);
    return;
  }
  if (find_symbol == nullptr) return;  // no dynamic libraries
  // A library that the program has loaded may have loaded OpenMP privately.
  char const* file = nullptr;
  ::dl_iterate_phdr(
      [](::dl_phdr_info* object, std::size_t, void* found) {
        if (std::strstr(object->dlpi_name, "/libgomp.so") == nullptr) return 0;
        *static_cast<char const**>(found) = object->dlpi_name;
        return 1;
      },
      static_cast<void*>(&file));
  if (file == nullptr) return;
  auto const open = reinterpret_cast<decltype(&::dlopen)>(find_symbol(RTLD_DEFAULT, "dlopen"));
  auto const close = reinterpret_cast<decltype(&::dlclose)>(find_symbol(RTLD_DEFAULT, "dlclose"));
  void* const library = open == nullptr ? nullptr : open(file, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  using pause_function = int (*)(int);
  if (auto const pause = reinterpret_cast<pause_function>(find_symbol(library, "omp_pause_resource_all")))
    pause(soft);
  if (close != nullptr) close(library);
}

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
/// so by this name even with -std=c++20, where names of POSIX have no special meaning.
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

// The standard streams of libstdc++, by the names of their symbols: <ostream> is long, and few programs need
// it. The addresses are null without that library.
[[gnu::weak]] extern std::ostream cout_of_program __asm__("_ZSt4cout");
[[gnu::weak]] extern std::ostream clog_of_program __asm__("_ZSt4clog");
[[gnu::weak]] extern std::wostream wcout_of_program __asm__("_ZSt5wcout");
[[gnu::weak]] extern std::wostream wclog_of_program __asm__("_ZSt5wclog");
[[gnu::weak]] std::ostream& flush_stream(std::ostream* to) __asm__("_ZNSo5flushEv");
[[gnu::weak]] std::wostream& flush_stream(std::wostream* to) __asm__(
    "_ZNSt13basic_ostreamIwSt11char_traitsIwEE5flushEv");
[[gnu::weak]] bool is_bad(std::ios const* of) __asm__("_ZNKSt9basic_iosIcSt11char_traitsIcEE3badEv");
[[gnu::weak]] bool is_bad(std::wios const* of) __asm__("_ZNKSt9basic_iosIwSt11char_traitsIwEE3badEv");
[[gnu::weak]] void* buffer_of(std::ios const* of) __asm__("_ZNKSt9basic_iosIcSt11char_traitsIcEE5rdbufEv");
[[gnu::weak]] void* buffer_of(std::wios const* of) __asm__("_ZNKSt9basic_iosIwSt11char_traitsIwEE5rdbufEv");

/// Flushes a standard stream. Returns false if the stream has lost output.
template <class Base, class Stream>
bool flush_if_made(Stream* to) {
  if (to == nullptr) return true;
  std::ptrdiff_t const* table = nullptr;
  std::memcpy(&table, static_cast<void const*>(to), sizeof table);
  if (table == nullptr) return true;  // no unit of the program includes <iostream>
  // The offset of the virtual base stands before the table, as in the Itanium C++ ABI.
  auto const* const base = reinterpret_cast<Base const*>(reinterpret_cast<std::byte const*>(to) + table[-3]);
  if (buffer_of(base) == nullptr) return true;  // the program has silenced it
  flush_stream(to);
  return !is_bad(base);
}

/// Flushes the standard streams of C++: they have buffers of their own after
/// std::ios::sync_with_stdio(false). Returns false if std::cout or std::wcout has lost output.
inline bool flush_standard_streams() noexcept {
  std::ostream& (*const is_there)(std::ostream*) = &flush_stream;
  if (is_there == nullptr) return true;
  try {
    flush_if_made<std::ios>(&clog_of_program);
    flush_if_made<std::wios>(&wclog_of_program);
    bool const is_written = flush_if_made<std::ios>(&cout_of_program);
    return flush_if_made<std::wios>(&wcout_of_program) && is_written;
  } catch (...) {  // the program has asked the stream for exceptions
    return false;
  }
}

/// Flushes what this process has printed: the file, or all files of C for null, and the standard streams of
/// C++. Returns false if standard output is lost; then errno says why, or is 0. A process without standard
/// output loses none.
inline bool flush_output_of_process(std::FILE* file) noexcept {
  errno = 0;
  std::fflush(file);
  int const why = errno;
  bool const is_written = flush_standard_streams();
  if (is_written && std::ferror(stdout) == 0) return true;
  bool const is_wanted = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  if (why != 0) errno = why;
  return !is_wanted;
}

}  // namespace PGAS_NAMESPACE::detail
