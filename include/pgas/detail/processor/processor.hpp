// SPDX-License-Identifier: BSL-1.0
#pragma once

// Includes only headers of the compiler, so that code for another processor can be checked without the
// headers of its system.
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <pgas/detail/processor/x86_64.hpp>
#elif defined(__aarch64__)
#include <pgas/detail/processor/aarch64.hpp>
#elif defined(__riscv)
#include <pgas/detail/processor/riscv.hpp>
#else
#error "pgas knows no cache instructions of this processor; add a header with them to detail/processor/"
#endif

/// The cache maintenance of real processors, for memory that hardware does not keep coherent.
///
/// To release:  store; clean; drain_stores; store the flag and clean it; drain_stores.
/// To acquire:  drop the flag; drain_all; load it; once it is set, drop the data; drain_all; load.
/// The order matters: speculation may fetch a line again that was dropped before the flag was seen, and the
/// data may not be in memory then.
/// Source: the processors' manuals; processor/*.hpp states the ordering rules beside each instruction.
namespace PGAS_NAMESPACE::processor {

#if defined(__x86_64__)
using here = x86_64;
#elif defined(__aarch64__)
using here = aarch64;
#else
using here = riscv;
#endif

/// True if put_past writes its own bytes and no others. If false, no two ranks may put into one line.
inline constexpr bool puts_are_exact = here::puts_are_exact;

/// The length of a line, as the processor reports it; clean and drop advance by it.
inline std::size_t line_bytes() noexcept { return here::line_bytes(); }

/// Calls step(line) once for every line that the range touches, including partial lines at its ends.
template <class Step>
void each_line(std::byte* address, std::size_t bytes, std::size_t line, Step&& step) {
  if (bytes == 0) return;
  std::size_t const before = reinterpret_cast<std::uintptr_t>(address) % line;
  std::byte* at = address - before;
  for (std::size_t left = (before + bytes - 1) / line + 1; left != 0; --left, at += line) step(at);
}

// Not inlined: a call costs little compared with the first line, unlike three loops at each use.

/// Writes the lines of a range back to memory; complete after drain_stores.
[[gnu::noinline]] inline void clean(std::byte* address, std::size_t bytes) noexcept {
  here::with_clean([=](auto step) { each_line(address, bytes, line_bytes(), step); });
}

/// Writes the modified lines of a range back, and forgets all its lines; complete after drain_all.
[[gnu::noinline]] inline void drop(std::byte* address, std::size_t bytes) noexcept {
  here::with_drop([=](auto step) { each_line(address, bytes, line_bytes(), step); });
}

/// Orders earlier cleans and puts before later stores, at the memory.
inline void drain_stores() noexcept { here::drain_stores(); }

/// Completes earlier drops, cleans and puts before later loads and stores begin.
inline void drain_all() noexcept { here::drain_all(); }

/// Copies to memory past the cache; complete after drain_stores. It reads `from` through the cache.
template <class Processor = here>
[[gnu::noinline]] void put_past(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if constexpr (Processor::puts_are_exact) {
    Processor::put_past(to, from, bytes);
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
    drop(to, bytes);
  }
}

/// The names of the instructions in use, for reports.
inline char const* clean_instruction() noexcept {
  return here::with_clean([](auto step) { return decltype(step)::name; });
}
inline char const* drop_instruction() noexcept {
  return here::with_drop([](auto step) { return decltype(step)::name; });
}

}  // namespace PGAS_NAMESPACE::processor
