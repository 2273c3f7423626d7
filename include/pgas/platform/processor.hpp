// SPDX-License-Identifier: BSL-1.0
#pragma once

// Only what a compiler brings by itself, so that other processors' code can be checked without their system's headers.
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <pgas/platform/processor/x86_64.hpp>
#elif defined(__aarch64__)
#include <pgas/platform/processor/aarch64.hpp>
#elif defined(__riscv)
#include <pgas/platform/processor/riscv.hpp>
#else
#error "platform/processor.hpp: how this processor writes back and drops lines is not written down yet"
#endif

/// The cache maintenance of real processors, for memory that hardware does not keep coherent.
///
/// To release:  stores; clean; drain_stores; store a flag, clean it; drain_stores.
/// To acquire:  drop the flag; drain_all; load it; once it is seen, drop the data; drain_all; loads. In this order: a
///              line dropped before the flag was seen may be back, fetched by speculation, before the data is there.
/// Source: the processors' manuals; the ordering rules are written down in processor/*.hpp with each instruction.
namespace pgas::inline PGAS_ASSERTIONS::processor {

#if defined(__x86_64__)
using here = x86_64;
#elif defined(__aarch64__)
using here = aarch64;
#else
using here = riscv;
#endif

/// Whether put_past writes its own bytes and no others: else no two ranks may put to one line.
inline constexpr bool puts_are_exact = here::puts_are_exact;

/// The length of a line, as the processor says: clean and drop walk by it.
inline std::size_t line_bytes() noexcept { return here::line_bytes(); }

/// Calls step(line) once for every line that the range touches, its first and last partial ones included.
template <class Step>
void each_line(std::byte* address, std::size_t bytes, std::size_t line, Step&& step) {
  if (bytes == 0) return;
  std::size_t const before = reinterpret_cast<std::uintptr_t>(address) % line;
  std::byte* at = address - before;
  for (std::size_t left = (before + bytes - 1) / line + 1; left != 0; --left, at += line) step(at);
}

// Out of line: a call costs nothing against the first line, and three loops at each use would.

/// Writes the lines of a range back to memory; complete after drain_stores.
[[gnu::noinline]] inline void clean(std::byte* address, std::size_t bytes) noexcept {
  here::with_clean([=](auto step) { each_line(address, bytes, line_bytes(), step); });
}

/// Forgets the lines of a range, after writing back those that were modified; complete after drain_all.
[[gnu::noinline]] inline void drop(std::byte* address, std::size_t bytes) noexcept {
  here::with_drop([=](auto step) { each_line(address, bytes, line_bytes(), step); });
}

/// Cleans and puts before it reach memory before stores after it do.
inline void drain_stores() noexcept { here::drain_stores(); }

/// Drops, cleans and puts before it are complete before loads and stores after it begin.
inline void drain_all() noexcept { here::drain_all(); }

/// Copies to memory and leaves no copy in the cache; complete after drain_stores. `from` is read through the cache.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::processor
