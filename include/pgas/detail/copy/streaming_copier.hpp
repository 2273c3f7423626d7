// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/detail/copy/copy_pauses.hpp>
#include <pgas/detail/copy/copy_run.hpp>
#include <pgas/detail/copy/short_copy.hpp>
#include <pgas/detail/copy/streaming_trial.hpp>
#include <pgas/detail/process/ticks.hpp>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

#if defined(__x86_64__)

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

/// Copies whole lines past the caches in registers of 32 bytes, for a processor with avx2. `to` is the
/// beginning of a line. The calling function has used such registers itself, and so ends by vzeroupper.
inline void stream_lines_in_32(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if constexpr (!copies_in_assembly) return static_cast<void>(std::memcpy(to, from, bytes));
  for (std::byte const* const end = from + bytes; from != end; from += 64, to += 64) {
    asm volatile(
        "vmovdqu (%[from]), %%ymm0\n\t"
        "vmovdqu 32(%[from]), %%ymm1\n\t"
        "vmovntdq %%ymm0, (%[to])\n\t"
        "vmovntdq %%ymm1, 32(%[to])"
        :
        : [from] "r"(from), [to] "r"(to)
        : "memory", "xmm0", "xmm1");
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

#if defined(__x86_64__)
/// Stores a register as large as a line past the caches, at the beginning of a line.
template <class Vector>
[[gnu::always_inline, gnu::target("avx512f")]] inline void stream_register(std::byte* to,
                                                                           Vector const& line) noexcept {
  static_assert(sizeof(Vector) == 64);
  if constexpr (copies_in_assembly) {
    asm volatile("vmovntdq %[line], (%[to])" : : [line] "v"(line), [to] "r"(to) : "memory");
  } else {
    std::memcpy(to, &line, sizeof line);
  }
}
#endif

/// Copies whole lines of `to` past the caches, and the rest through them.
///
/// For a series of copies. After the last of them end_streaming() orders the data before a later signal,
/// which is a plain store.
inline void stream_part(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  std::size_t const head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  if (copies_in_assembly && bytes >= head + 64) [[likely]] {
    copy_short(to, from, head);
    std::size_t const done =
        head + (__builtin_cpu_supports("avx512f") ? stream_whole_lines(to + head, from + head, bytes - head)
                                                  : stream_lines(to + head, from + head, bytes - head));
    return copy_short(to + done, from + done, (bytes - head) % 64);  // as the compiler sees, less than a line
  }
#endif
  copy_short(to, from, bytes);
}
inline void end_streaming() noexcept {
#if defined(__x86_64__)
  if constexpr (copies_in_assembly) asm volatile("sfence" : : : "memory");
#endif
}

/// Copies past the caches. At return the copy is as ordered as a memcpy.
[[gnu::noinline]] inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  stream_part(to, from, bytes);
  end_streaming();
}

/// Copies rows of `row_bytes` bytes; pitches are in bytes.
///
/// With `streams` the rows pass the caches, and the caller ends the series by end_streaming(). Short rows are
/// prefetched, since the processor does not recognize a sequence in them.
inline void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      std::size_t rows, std::size_t row_bytes, bool streams) noexcept {
#if defined(__x86_64__)
  if (copies_in_assembly && !streams && row_bytes >= 64 && row_bytes <= most_wide &&
      __builtin_cpu_supports("avx2")) {
    return (moves_whole_lines ? copy_rows_in_lines : copy_wide_rows)(to, to_pitch, from, from_pitch, rows,
                                                                     row_bytes);
  }
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

/// Returns whether this machine copies more quickly to memory than to the third level. The first call tries
/// it.
inline bool is_memory_quicker() noexcept {
  static bool const answer =
      streaming_trial(half_of_second_level() / 2 * 3, stream, copy_cached).is_quicker();
  return answer;
}

/// Copies to one memory, and streams past the caches what they could not keep: see copy_run.
///
/// It also streams to a place that is used again, where that is quicker (streaming_trial) and nobody seems to
/// read there (copy_pauses). A reader finds the bytes of 2 to 8 MiB in the third level in 0.6 to 0.75 of the
/// time that it takes from memory. So with a reader, copies through the caches win 7 to 20 % for both.
class streaming_copier {
 public:
  void operator()(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes < long_copy) return copy_short(to, from, bytes);
    if constexpr (copies_in_assembly) {
      if (run_.is_worth_a_look(to, bytes)) return copy_in_run(to, from, bytes);
      run_.begin(to, to + bytes, bytes);
    }
    copy_cached(to, from, bytes);
  }
  /// Copies rows of `row_bytes` bytes as one copy; pitches are in bytes.
  void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                 std::size_t rows, std::size_t row_bytes) noexcept {
    bool streams = false;
    std::size_t const bytes = rows * row_bytes;
    if (copies_in_assembly && bytes >= long_copy)
      streams = run_.passes_caches(to, to + (rows - 1) * to_pitch + row_bytes, bytes);
    detail::copy_rows(to, to_pitch, from, from_pitch, rows, row_bytes, streams);
    if (streams) end_streaming();
  }

 private:
  [[gnu::noinline]] void copy_in_run(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (run_.passes_caches(to, to + bytes, bytes)) return stream(to, from, bytes);
    if (bytes < least_again || !run_.is_again()) return copy_next(to, from, bytes);
    copy_again(to, from, bytes);
  }
  /// Copies through the caches. The lines of a run are further away than those of a copy again and again.
  static void copy_next(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
    if (moves_whole_lines && bytes <= most_wide) return copy_asked_lines(to, from, bytes);
#endif
    copy_cached(to, from, bytes);
  }
  /// Copies to a place that is used again, through the caches, if somebody may read it there.
  void copy_again(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    pauses_.begin(run_.is_first_again(bytes), from, ticks());
    if (pauses_.is_unread() && is_memory_quicker()) {
      stream(to, from, bytes);
    } else {
      copy_cached(to, from, bytes);
    }
    pauses_.end(from + bytes, ticks());
  }

  /// A shorter copy would gain nothing past the caches, since each of them ends by a wait for memory.
  static constexpr std::size_t least_again = std::size_t{16} << 10U;

  copy_run run_;
  copy_pauses pauses_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
