// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstring>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::processor {

/// True if stream_lines passes the caches. Sanitizers cannot see into assembly, so there it is a memcpy.
inline constexpr bool has_streaming_stores =
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#elif !defined(__has_feature)
    true;
#else
    !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer));
#endif

/// Copies lines of 64 bytes past the caches. `to` is the beginning of a line.
///
/// end_streaming() orders the bytes before a later signal, which is a plain store. In assembly, since the
/// header of the intrinsics would take a tenth of the time to compile pgas.hpp.
inline void stream_lines(std::byte* to, std::byte const* from, std::size_t lines) noexcept {
  if constexpr (has_streaming_stores) {
#if defined(__x86_64__)
    for (; lines != 0; --lines, to += 64, from += 64) {
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
          : [from] "r"(from), [to] "r"(to)
          : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
    }
#endif
  } else {
    std::memcpy(to, from, lines * 64);
  }
}

#if defined(__x86_64__)
/// Stores a vector of 64 bytes past the caches, at the beginning of a line.
template <class Vector>
[[gnu::always_inline, gnu::target("avx512f")]] inline void stream_register(std::byte* to,
                                                                           Vector const& line) noexcept {
  static_assert(sizeof(Vector) == 64);
  if constexpr (has_streaming_stores) {
    asm volatile("vmovntdq %[line], (%[to])" : : [line] "v"(line), [to] "r"(to) : "memory");
  } else {
    std::memcpy(to, &line, sizeof line);
  }
}
#endif

/// Orders the bytes of earlier streaming stores before later stores.
inline void end_streaming() noexcept {
#if defined(__x86_64__)
  if constexpr (has_streaming_stores) asm volatile("sfence" : : : "memory");
#endif
}

}  // namespace PGAS_NAMESPACE::processor
