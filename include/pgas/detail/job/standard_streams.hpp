// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iosfwd>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

// The standard streams of libstdc++, by the names of their symbols: <ostream> is long, and few programs need
// it. A library without them leaves null addresses.
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

/// Writes what a standard stream holds back. Returns false if the stream has lost output.
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

/// Writes what the standard streams of C++ hold back: they have buffers of their own after
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

/// Writes what this process has printed and holds back: the file, or all files of C for null, and the
/// standard streams of C++. Returns false if standard output is lost; then errno says why, or is 0. A process
/// without standard output wants none.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
