// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Copies are in assembly or in registers of 32 bytes. Sanitizers see neither into assembly nor, some of
/// them, accesses of 32 bytes. So under them every copy is a memcpy, as on other processors.
inline constexpr bool copies_in_assembly =
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#elif !defined(__has_feature)
    true;
#else
    !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer));
#endif

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

#if defined(__x86_64__)
/// A longer copy gains nothing from registers: a memcpy moves it by the processor's own instruction for
/// strings, whose start counts less then.
inline constexpr std::size_t most_wide = 8192;
/// Copies of these lengths ask for the lines of `to` before their turn: source and target together hardly fit
/// a first level cache of 48 KiB. Shorter and longer ones gain nothing by it.
inline constexpr std::size_t least_asked = std::size_t{20} << 10U;
inline constexpr std::size_t most_asked = std::size_t{40} << 10U;

/// Whether a register of 64 bytes moves a whole line at once.
///
/// Older processors with such registers move each in two halves, or lower their clock's rate for them. Those
/// with AVX-VNNI do neither: glibc asks for it, too. clang++ 16 does not know it by name. A copy before the
/// constant has its value takes shorter registers.
inline bool const moves_whole_lines = [] {
  if (!__builtin_cpu_supports("avx512f")) return false;
  unsigned a = 7, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (a == 0) return false;  // no leaf 7.1
  a = 7;
  c = 1;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (a >> 4U & 1U) != 0;
}();

// Inline copies are in assembly, since callers are compiled for processors without these registers. All loads
// precede all stores: where both places are the same of a page, a load would wait for the store before it.
// A caller that is compiled for longer registers loses the upper halves of all sixteen by vzeroupper.
// `inline` is for the compiler, which else takes each line of assembly for several instructions.

/// Copies 32 to 64 bytes in two registers of 32 bytes.
///
/// Registers of 16 bytes take twice as many places in the queue of stores, so a walk past the caches has half
/// as many lines under way.
[[gnu::always_inline]] inline void copy_in_two(std::byte* to, std::byte const* from,
                                               std::size_t bytes) noexcept {
  asm volatile inline(
      "vmovdqu (%[from]), %%ymm0\n\t"
      "vmovdqu -32(%[from],%[bytes]), %%ymm1\n\t"
      "vmovdqu %%ymm0, (%[to])\n\t"
      "vmovdqu %%ymm1, -32(%[to],%[bytes])\n\t"
      "vzeroupper"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
/// Copies 64 to 128 bytes in four registers of 32 bytes.
[[gnu::always_inline]] inline void copy_in_four(std::byte* to, std::byte const* from,
                                                std::size_t bytes) noexcept {
  asm volatile inline(
      "vmovdqu (%[from]), %%ymm0\n\t"
      "vmovdqu 32(%[from]), %%ymm1\n\t"
      "vmovdqu -64(%[from],%[bytes]), %%ymm2\n\t"
      "vmovdqu -32(%[from],%[bytes]), %%ymm3\n\t"
      "vmovdqu %%ymm0, (%[to])\n\t"
      "vmovdqu %%ymm1, 32(%[to])\n\t"
      "vmovdqu %%ymm2, -64(%[to],%[bytes])\n\t"
      "vmovdqu %%ymm3, -32(%[to],%[bytes])\n\t"
      "vzeroupper"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
/// Copies 128 to 256 bytes in eight registers of 32 bytes.
[[gnu::always_inline]] inline void copy_in_eight(std::byte* to, std::byte const* from,
                                                 std::size_t bytes) noexcept {
  asm volatile inline(
      "vmovdqu (%[from]), %%ymm0\n\t"
      "vmovdqu 32(%[from]), %%ymm1\n\t"
      "vmovdqu 64(%[from]), %%ymm2\n\t"
      "vmovdqu 96(%[from]), %%ymm3\n\t"
      "vmovdqu -128(%[from],%[bytes]), %%ymm4\n\t"
      "vmovdqu -96(%[from],%[bytes]), %%ymm5\n\t"
      "vmovdqu -64(%[from],%[bytes]), %%ymm6\n\t"
      "vmovdqu -32(%[from],%[bytes]), %%ymm7\n\t"
      "vmovdqu %%ymm0, (%[to])\n\t"
      "vmovdqu %%ymm1, 32(%[to])\n\t"
      "vmovdqu %%ymm2, 64(%[to])\n\t"
      "vmovdqu %%ymm3, 96(%[to])\n\t"
      "vmovdqu %%ymm4, -128(%[to],%[bytes])\n\t"
      "vmovdqu %%ymm5, -96(%[to],%[bytes])\n\t"
      "vmovdqu %%ymm6, -64(%[to],%[bytes])\n\t"
      "vmovdqu %%ymm7, -32(%[to],%[bytes])\n\t"
      "vzeroupper"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
/// Copies 64 to 128 bytes in two registers of 64 bytes.
[[gnu::always_inline]] inline void copy_in_two_lines(std::byte* to, std::byte const* from,
                                                     std::size_t bytes) noexcept {
  asm volatile inline(
      "vmovdqu64 (%[from]), %%zmm0\n\t"
      "vmovdqu64 -64(%[from],%[bytes]), %%zmm1\n\t"
      "vmovdqu64 %%zmm0, (%[to])\n\t"
      "vmovdqu64 %%zmm1, -64(%[to],%[bytes])\n\t"
      "vzeroupper"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
/// Copies 128 to 256 bytes in four registers of 64 bytes.
[[gnu::always_inline]] inline void copy_in_four_lines(std::byte* to, std::byte const* from,
                                                      std::size_t bytes) noexcept {
  asm volatile inline(
      "vmovdqu64 (%[from]), %%zmm0\n\t"
      "vmovdqu64 64(%[from]), %%zmm1\n\t"
      "vmovdqu64 -128(%[from],%[bytes]), %%zmm2\n\t"
      "vmovdqu64 -64(%[from],%[bytes]), %%zmm3\n\t"
      "vmovdqu64 %%zmm0, (%[to])\n\t"
      "vmovdqu64 %%zmm1, 64(%[to])\n\t"
      "vmovdqu64 %%zmm2, -128(%[to],%[bytes])\n\t"
      "vmovdqu64 %%zmm3, -64(%[to],%[bytes])\n\t"
      "vzeroupper"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

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

/// Copies 256 to 512 bytes in eight registers of 64 bytes. Older instructions do not know these registers, so
/// no vzeroupper is needed.
[[gnu::always_inline, gnu::target("avx512f")]] inline void copy_in_eight_lines(std::byte* to,
                                                                               std::byte const* from,
                                                                               std::size_t bytes) noexcept {
  asm volatile(
      "vmovdqu64 (%[from]), %%zmm16\n\t"
      "vmovdqu64 64(%[from]), %%zmm17\n\t"
      "vmovdqu64 128(%[from]), %%zmm18\n\t"
      "vmovdqu64 192(%[from]), %%zmm19\n\t"
      "vmovdqu64 -256(%[from],%[bytes]), %%zmm20\n\t"
      "vmovdqu64 -192(%[from],%[bytes]), %%zmm21\n\t"
      "vmovdqu64 -128(%[from],%[bytes]), %%zmm22\n\t"
      "vmovdqu64 -64(%[from],%[bytes]), %%zmm23\n\t"
      "vmovdqu64 %%zmm16, (%[to])\n\t"
      "vmovdqu64 %%zmm17, 64(%[to])\n\t"
      "vmovdqu64 %%zmm18, 128(%[to])\n\t"
      "vmovdqu64 %%zmm19, 192(%[to])\n\t"
      "vmovdqu64 %%zmm20, -256(%[to],%[bytes])\n\t"
      "vmovdqu64 %%zmm21, -192(%[to],%[bytes])\n\t"
      "vmovdqu64 %%zmm22, -128(%[to],%[bytes])\n\t"
      "vmovdqu64 %%zmm23, -64(%[to],%[bytes])"
      :
      : [from] "r"(from), [to] "r"(to), [bytes] "r"(bytes)
      : "memory", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23");
}

/// A line anywhere in memory, as a register is loaded from it.
struct [[gnu::packed, gnu::may_alias]] unaligned_line {
  [[gnu::vector_size(64)]] unsigned char bytes;
};

/// Four lines in registers. clang++ keeps them there only if it sees no memcpy.
struct four_lines {
  using line [[gnu::vector_size(64)]] = unsigned char;

  [[gnu::always_inline, gnu::target("avx512f")]] explicit four_lines(std::byte const* from) noexcept
      : first(at(from)[0].bytes),
        second(at(from)[1].bytes),
        third(at(from)[2].bytes),
        fourth(at(from)[3].bytes) {}
  [[gnu::always_inline, gnu::target("avx512f")]] void store(std::byte* to) const noexcept {
    auto* const lines = reinterpret_cast<unaligned_line*>(to);
    lines[0].bytes = first;
    lines[1].bytes = second;
    lines[2].bytes = third;
    lines[3].bytes = fourth;
  }
  static unaligned_line const* at(std::byte const* from) noexcept {
    return reinterpret_cast<unaligned_line const*>(from);
  }

  line first, second, third, fourth;
};

/// Copies more than 512 bytes in registers of 64 bytes. Only the first and the last ones cross lines of `to`.
/// The lines of `to` are asked for so many bytes before their turn, if any.
template <std::size_t Ahead = 0>
[[gnu::always_inline, gnu::target("avx512f")]] inline void copy_many_lines(std::byte* to,
                                                                           std::byte const* from,
                                                                           std::size_t bytes) noexcept {
  std::byte* const to_last = to + bytes - 256;
  std::byte const* const from_last = from + bytes - 256;
  four_lines const last(from_last);
  std::memcpy(to, from, 64);
  std::size_t const head = 64 - reinterpret_cast<std::uintptr_t>(to) % 64;
  to += head;
  from += head;
  if constexpr (Ahead != 0) {
    for (; from < from_last - Ahead; from += 256, to += 256) {
      for (std::size_t k = 0; k < 256; k += 64) asm volatile("prefetchw %0" : : "m"(to[Ahead + k]));
      four_lines(from).store(to);
    }
  }
  for (; from < from_last; from += 256, to += 256) four_lines(from).store(to);
  last.store(to_last);
}

/// Copies 4 KiB or more in registers of 64 bytes, and asks for the lines of `to` 16 lines before their turn.
[[gnu::noinline, gnu::target("avx512f")]] inline void copy_asked_lines(std::byte* to, std::byte const* from,
                                                                       std::size_t bytes) noexcept {
  copy_many_lines<1024>(to, from, bytes);
}

/// Copies 256 bytes or more, in registers of 64 bytes where they gain.
[[gnu::noinline, gnu::target("avx512f")]] inline void copy_in_lines(std::byte* to, std::byte const* from,
                                                                    std::size_t bytes) noexcept {
  // Beside a second thread of the core, a jump more takes a sixth of the time of 512 bytes.
  if (bytes <= 512) [[likely]]
    return copy_in_eight_lines(to, from, bytes);
  if (bytes > most_wide) [[unlikely]] {
    if (bytes >= least_asked && bytes <= most_asked) return copy_asked_lines(to, from, bytes);
    return static_cast<void>(std::memcpy(to, from, bytes));
  }
  copy_many_lines(to, from, bytes);
}

/// Copies rows of 64 to `most_wide` bytes in registers of 64 bytes. One call for all rows.
[[gnu::noinline, gnu::target("avx512f")]] inline void copy_rows_in_lines(std::byte* to, std::size_t to_pitch,
                                                                         std::byte const* from,
                                                                         std::size_t from_pitch,
                                                                         std::size_t rows,
                                                                         std::size_t row_bytes) noexcept {
  for (; rows > 0; --rows, to += to_pitch, from += from_pitch) {
    if (row_bytes <= 128) {
      copy_in_two_lines(to, from, row_bytes);
    } else if (row_bytes <= 256) {
      copy_in_four_lines(to, from, row_bytes);
    } else if (row_bytes <= 512) {
      copy_in_eight_lines(to, from, row_bytes);
    } else {
      copy_many_lines(to, from, row_bytes);
    }
  }
}
#endif

/// Copies 32 bytes or more through the caches: up to 256 inline where the processor has the registers, and
/// more by a call, which would cost more than a short copy.
inline void copy_cached(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (copies_in_assembly && __builtin_cpu_supports("avx2")) [[likely]] {
    if (bytes <= 64) return copy_in_two(to, from, bytes);
    if (moves_whole_lines) {
      if (bytes <= 128) return copy_in_two_lines(to, from, bytes);
      if (bytes <= 256) return copy_in_four_lines(to, from, bytes);
      return copy_in_lines(to, from, bytes);
    }
    if (bytes <= 128) return copy_in_four(to, from, bytes);
    if (bytes <= 256) return copy_in_eight(to, from, bytes);
    if (bytes <= most_wide) return copy_wide(to, from, bytes);
  }
#endif
  if (bytes <= 64) return copy_ends<16, 2>(to, from, bytes);
  std::memcpy(to, from, bytes);
}

/// Copies any number of bytes through the caches.
inline void copy_short(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes >= 32) [[likely]] {
    copy_cached(to, from, bytes);
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
