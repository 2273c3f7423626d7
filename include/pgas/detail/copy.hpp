// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/detail/expects.hpp>

// Sanitizers do not see into assembly: under them every copy is a memcpy. So it is on other processors.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PGAS_STREAMS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef PGAS_STREAMS
#endif
#endif
#endif

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The least size at which a copy may pass the caches.
inline constexpr std::size_t may_stream_from = std::size_t{1} << 20U;

#if defined(PGAS_STREAMS)

/// Copies larger than this pass the caches: what does not fit a core's own second level cache pushes out
/// everything else there, and an ordinary store first reads the line it will overwrite. Below it, whoever reads
/// the copy, or copies to the same place again, is better off with it in the cache.
inline std::size_t streams_above() noexcept {
  static std::size_t const bytes = [] {
    long const level2 = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::max(may_stream_from, level2 > 0 ? static_cast<std::size_t>(level2) : 0);
  }();
  return bytes;
}

// In assembly, since the header of the intrinsics would be a tenth of what pgas.hpp costs to compile. `to` is at a
// line's beginning; returns how many bytes, whole lines, it copied. Wider registers gained nothing where it was
// measured.
inline std::size_t stream_lines(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= 64; done += 64) {
    asm volatile(
        "movdqu (%[from]), %%xmm0\n\t"
        "movdqu 16(%[from]), %%xmm1\n\t"
        "movdqu 32(%[from]), %%xmm2\n\t"
        "movdqu 48(%[from]), %%xmm3\n\t"
        "movntdq %%xmm0, (%[to])\n\t"
        "movntdq %%xmm1, 16(%[to])\n\t"
        "movntdq %%xmm2, 32(%[to])\n\t"
        "movntdq %%xmm3, 48(%[to])"
        :
        : [from] "r"(from + done), [to] "r"(to + done)
        : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
  }
  return done;
}

/// Copies past the caches. As ordered as a memcpy when it returns: the fence at its end makes a later signal, a plain
/// store, come after the data.
[[gnu::noinline]] inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t const head = std::min(bytes, (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64);
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  std::size_t const done = stream_lines(to, from, bytes);
  asm volatile("sfence" : : : "memory");
  std::memcpy(to + done, from + done, bytes - done);
}

#endif

/// Copies to memory that somebody else will read: memcpy, and past the caches when it is large.
inline void copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(PGAS_STREAMS)
  if (bytes > may_stream_from && bytes > streams_above()) {
    stream(to, from, bytes);
    return;
  }
#endif
  if (bytes != 0) std::memcpy(to, from, bytes);  // an empty span may have no address
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail

#undef PGAS_STREAMS
