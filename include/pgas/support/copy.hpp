// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/support/expects.hpp>

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

/// Copies of fewer bytes are made where they are asked for, and never past the caches.
inline constexpr std::size_t long_copy = 4096;

/// So many bytes as a processor moves at once.
template <std::size_t Bytes>
struct copied_at_once {
  std::byte at[Bytes];
};

/// Copies the first `Count` pieces and the last as many, which may overlap; all loads come first.
template <std::size_t Piece, std::size_t Count>
void copy_ends(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  copied_at_once<Piece> first[Count], last[Count];
  for (std::size_t i = 0; i < Count; ++i) {
    std::memcpy(&first[i], from + i * Piece, Piece);
    std::memcpy(&last[i], from + bytes - (Count - i) * Piece, Piece);
  }
  for (std::size_t i = 0; i < Count; ++i) {
    std::memcpy(to + i * Piece, &first[i], Piece);
    std::memcpy(to + bytes - (Count - i) * Piece, &last[i], Piece);
  }
}

/// Copies what is shorter than a line without the call that memcpy is.
inline void copy_short(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes > 64) [[likely]] {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    copy_ends<16, 2>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16, 1>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8, 1>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4, 1>(to, from, bytes);
  } else if (bytes != 0) {
    to[0] = from[0];
    to[bytes / 2] = from[bytes / 2];
    to[bytes - 1] = from[bytes - 1];
  }
}

#if defined(PGAS_STREAMS)

// In assembly, since the header of the intrinsics would be a tenth of what pgas.hpp costs to compile. `to` is at a
// line's beginning; both return how many bytes, whole lines, they copied.
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
// A whole line in one store never waits for its other parts. These registers have no lower half that older instructions
// know, so that nothing needs to be cleared.
[[gnu::target("avx512f")]] inline std::size_t stream_whole_lines(std::byte* to, std::byte const* from,
                                                                 std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= 64; done += 64) {
    asm volatile(
        "vmovdqu64 (%[from]), %%zmm16\n\t"
        "vmovntdq %%zmm16, (%[to])"
        :
        : [from] "r"(from + done), [to] "r"(to + done)
        : "memory", "xmm16");
  }
  return done;
}

#endif

#if defined(__x86_64__)
/// Stores a register of a line's size past the caches, at a line's beginning.
template <class Vector>
[[gnu::always_inline, gnu::target("avx512f")]] inline void stream_register(std::byte* to, Vector const& line) noexcept {
  static_assert(sizeof(Vector) == 64);
#if defined(PGAS_STREAMS)
  asm volatile("vmovntdq %[line], (%[to])" : : [line] "v"(line), [to] "r"(to) : "memory");
#else
  std::memcpy(to, &line, sizeof line);
#endif
}
#endif

/// Copies past the caches, where `to` has whole lines, and the rest of it through them: for many such copies, after the
/// last of which end_streaming() makes a later signal, a plain store, come after the data.
inline void stream_part(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(PGAS_STREAMS)
  std::size_t const head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  if (bytes >= head + 64) [[likely]] {
    copy_short(to, from, head);
    std::size_t done = head;
    done += __builtin_cpu_supports("avx512f") ? stream_whole_lines(to + head, from + head, bytes - head)
                                              : stream_lines(to + head, from + head, bytes - head);
    return copy_short(to + done, from + done, bytes - done);
  }
#endif
  copy_short(to, from, bytes);
}
inline void end_streaming() noexcept {
#if defined(PGAS_STREAMS)
  asm volatile("sfence" : : : "memory");
#endif
}

/// Copies past the caches. As ordered as a memcpy when it returns.
[[gnu::noinline]] inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  stream_part(to, from, bytes);
  end_streaming();
}

/// How many bytes a copy may have that is to stay in a core's own second level cache beside its source.
inline std::size_t half_of_second_level() noexcept {
  static long const bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // slow: a virtual machine's host answers it
  return bytes > 0 ? static_cast<std::size_t>(bytes) / 2 : std::size_t{1} << 20U;
}

/// Copies rows that lie so many bytes apart. With `streams` they go past the caches, and the last such copy is followed
/// by end_streaming(). Rows too short for the processor to see that they go on are asked for before they are needed.
inline void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      std::size_t rows, std::size_t row_bytes, bool streams) noexcept {
  constexpr std::size_t ahead = 4;
  bool const is_short = row_bytes <= 1024;
  for (; rows > 0; --rows, to += to_pitch, from += from_pitch) {
    if (streams) {
      if (is_short && rows > ahead) {
        for (std::size_t k = 0; k < row_bytes; k += 64) __builtin_prefetch(from + ahead * from_pitch + k, 0, 2);
      }
      stream_part(to, from, row_bytes);
    } else {
      copy_short(to, from, row_bytes);
    }
  }
}

/// Copies to a memory, and past the caches what they could not keep: more than half of a core's own second level cache
/// holds, since its source is there too, in one copy or in several that go on where the one before has ended.
///
/// Such copies push out everything else there, and an ordinary store first reads the line it will overwrite. Smaller
/// ones are better off in the cache: whoever reads them, or copies to the same place again, finds them there.
class copier {
 public:
  void operator()(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes < long_copy) return copy_short(to, from, bytes);
#if defined(PGAS_STREAMS)
    auto const at = reinterpret_cast<std::uintptr_t>(to);
    if (at == end() || bytes > kept_ || run() > kept_) return copy_in_run(to, from, bytes);
    set_run(at + bytes, bytes);
#endif
    std::memcpy(to, from, bytes);
  }

 private:
#if defined(PGAS_STREAMS)
  /// What comes back to where a cache still has it ends a run that passed the caches; what goes elsewhere ends it if it
  /// does so again: a long walk that begins anew is one still.
  [[gnu::noinline]] void copy_in_run(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(to);
    std::size_t length = run();
    if (at != end()) length = end() - at <= kept_ ? 0 : std::min(length, 2 * kept_) / 2;
    length += bytes;
    set_run(at + bytes, length);
    if (length > kept_) return stream(to, from, bytes);
    std::memcpy(to, from, bytes);
  }

  // Threads of one rank may copy at the same time: then runs are not recognized, and nothing else happens.
  [[nodiscard]] std::uintptr_t end() noexcept { return std::atomic_ref(end_).load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t run() noexcept { return std::atomic_ref(run_).load(std::memory_order_relaxed); }
  void set_run(std::uintptr_t end, std::size_t length) noexcept {
    std::atomic_ref(end_).store(end, std::memory_order_relaxed);
    std::atomic_ref(run_).store(length, std::memory_order_relaxed);
  }

  std::uintptr_t end_ = 0;  ///< of the last long copy
  std::size_t run_ = 0;     ///< bytes that were copied up to there, one copy where the one before has ended
  std::size_t kept_ = half_of_second_level();
#endif
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail

#undef PGAS_STREAMS
