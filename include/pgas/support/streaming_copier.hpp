// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/support/expects.hpp>

// Sanitizers see neither into assembly nor, some of them, accesses of 32 bytes. So under them every copy is a
// memcpy, as on other processors.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PGAS_STREAMS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef PGAS_STREAMS
#endif
#endif
#endif

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A copy of fewer bytes is inlined and never passes the caches.
inline constexpr std::size_t long_copy = 4096;

/// A piece of as many bytes as the processor moves at once.
template <std::size_t Bytes>
struct copied_at_once {
  std::byte at[Bytes];
};

/// Copies the first `Count` pieces and the last `Count` pieces, which may overlap. All loads precede all
/// stores.
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

#if defined(PGAS_STREAMS)
/// A longer copy gains nothing from `copy_wide`.
inline constexpr std::size_t most_wide = 1024;

/// Copies 64 bytes in two registers.
[[gnu::always_inline, gnu::target("avx2")]] inline void copy_wide_line(std::byte* to,
                                                                       std::byte const* from) noexcept {
  using wide [[gnu::vector_size(32)]] = unsigned char;
  wide first, second;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&second, from + sizeof first, sizeof second);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + sizeof first, &second, sizeof second);
}

/// Copies 64 bytes or more. Lines from both ends may overlap.
[[gnu::always_inline, gnu::target("avx2")]] inline void copy_wide_lines(std::byte* to, std::byte const* from,
                                                                        std::size_t bytes) noexcept {
  std::byte* const to_last = to + bytes - 64;
  std::byte const* const from_last = from + bytes - 64;
  if (bytes > 256) {
    for (; from < from_last; from += 64, to += 64) copy_wide_line(to, from);
  } else {
    copy_wide_line(to, from);
    if (bytes > 128) {
      copy_wide_line(to + 64, from + 64);
      copy_wide_line(to_last - 64, from_last - 64);
    }
  }
  copy_wide_line(to_last, from_last);
}

/// Copies 64 to `most_wide` bytes in registers of 32 bytes.
///
/// A memcpy is called through a table and chooses among more lengths, so it takes 1.1 to 1.8 times as long.
/// The function is not inlined: its callers are compiled for processors without these registers, too.
[[gnu::noinline, gnu::target("avx2")]] inline void copy_wide(std::byte* to, std::byte const* from,
                                                             std::size_t bytes) noexcept {
  copy_wide_lines(to, from, bytes);
}

/// Copies rows of 64 to `most_wide` bytes in registers of 32 bytes. One call for all rows.
[[gnu::noinline, gnu::target("avx2")]] inline void copy_wide_rows(std::byte* to, std::size_t to_pitch,
                                                                  std::byte const* from,
                                                                  std::size_t from_pitch, std::size_t rows,
                                                                  std::size_t row_bytes) noexcept {
  for (; rows > 0; --rows, to += to_pitch, from += from_pitch) copy_wide_lines(to, from, row_bytes);
}
#endif

/// Copies more than 64 bytes.
inline void copy_whole(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(PGAS_STREAMS)
  if (bytes <= most_wide && __builtin_cpu_supports("avx2")) return copy_wide(to, from, bytes);
#endif
  std::memcpy(to, from, bytes);
}

/// Copies up to 64 bytes inline, and more by a call, which would cost more than a short copy.
inline void copy_short(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes > 64) [[likely]] {
    copy_whole(to, from, bytes);
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

// In assembly, since including the header of the intrinsics would take a tenth of the time to compile
// pgas.hpp. `to` is the beginning of a line. Both functions copy whole lines and return the number of bytes
// copied.
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
// A store of a whole line never waits for the line's other parts. Older instructions do not know these
// registers, so no vzeroupper is needed.
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
/// Stores a register as large as a line past the caches, at the beginning of a line.
template <class Vector>
[[gnu::always_inline, gnu::target("avx512f")]] inline void stream_register(std::byte* to,
                                                                           Vector const& line) noexcept {
  static_assert(sizeof(Vector) == 64);
#if defined(PGAS_STREAMS)
  asm volatile("vmovntdq %[line], (%[to])" : : [line] "v"(line), [to] "r"(to) : "memory");
#else
  std::memcpy(to, &line, sizeof line);
#endif
}
#endif

/// Copies whole lines of `to` past the caches, and the rest through them.
///
/// For a series of copies. After the last of them end_streaming() orders the data before a later signal,
/// which is a plain store.
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

/// Copies past the caches. At return the copy is as ordered as a memcpy.
[[gnu::noinline]] inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  stream_part(to, from, bytes);
  end_streaming();
}

/// The most bytes of a copy that a core's own second level cache holds together with their source.
inline std::size_t half_of_second_level() noexcept {
  static long const bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // slow: a virtual machine's host answers it
  return bytes > 0 ? static_cast<std::size_t>(bytes) / 2 : std::size_t{1} << 20U;
}

/// Copies rows of `row_bytes` bytes; pitches are in bytes.
///
/// With `streams` the rows pass the caches, and the caller ends the series by end_streaming(). Short rows are
/// prefetched, since the processor does not recognize a sequence in them.
inline void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      std::size_t rows, std::size_t row_bytes, bool streams) noexcept {
#if defined(PGAS_STREAMS)
  if (!streams && row_bytes >= 64 && row_bytes <= most_wide && __builtin_cpu_supports("avx2"))
    return copy_wide_rows(to, to_pitch, from, from_pitch, rows, row_bytes);
#endif
  constexpr std::size_t ahead = 4;
  bool const is_short = row_bytes <= 1024;
  for (; rows > 0; --rows, to += to_pitch, from += from_pitch) {
    if (streams) {
      if (is_short && rows > ahead) {
        for (std::size_t k = 0; k < row_bytes; k += 64)
          __builtin_prefetch(from + ahead * from_pitch + k, 0, 2);
      }
      stream_part(to, from, row_bytes);
    } else {
      copy_short(to, from, row_bytes);
    }
  }
}

/// Copies to one memory, and streams a run of copies past the caches when they could not keep it.
///
/// A run is one copy, or several of which each begins where the one before ended. It is streamed when it is
/// longer than half of a core's second level cache, since its source takes the other half. Through the cache
/// such a run would push out everything else, and each store would first read the line it overwrites. A
/// shorter run goes through the cache, where a reader, or the next copy to the same place, finds it.
class streaming_copier {
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
  /// A copy into a range that is still cached resets the run. A copy elsewhere at most halves it, so a
  /// sequential walk that restarts at its beginning keeps streaming.
  [[gnu::noinline]] void copy_in_run(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(to);
    std::size_t length = run();
    if (at != end()) length = end() - at <= kept_ ? 0 : std::min(length, 2 * kept_) / 2;
    length += bytes;
    set_run(at + bytes, length);
    if (length > kept_) return stream(to, from, bytes);
    std::memcpy(to, from, bytes);
  }

  // Threads of one rank may copy at the same time. Then runs are not recognized, and the copies are still
  // right.
  [[nodiscard]] std::uintptr_t end() noexcept {
    return std::atomic_ref(end_).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t run() noexcept { return std::atomic_ref(run_).load(std::memory_order_relaxed); }
  void set_run(std::uintptr_t end, std::size_t length) noexcept {
    std::atomic_ref(end_).store(end, std::memory_order_relaxed);
    std::atomic_ref(run_).store(length, std::memory_order_relaxed);
  }

  std::uintptr_t end_ = 0;                     ///< the end of the last long copy
  std::size_t run_ = 0;                        ///< the length of the run that ended there, in bytes
  std::size_t kept_ = half_of_second_level();  ///< the longest run that caches keep, in bytes
#endif
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail

#undef PGAS_STREAMS
