// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::processor {

/// x86-64, in user mode: an instruction can write a line back and keep or drop it, but none can discard a
/// line.
///
/// Each instruction is assembly with a memory operand. It needs no compiler option, and works on the operand
/// at every level of optimization.
struct x86_64 {
  /// A put past the cache changes its own bytes and no others.
  static constexpr bool puts_are_exact = true;

  struct clwb {
    static constexpr char const* name = "clwb";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile("clwb %0" : "+m"(*line) : : "memory");
    }
  };
  struct clflushopt {
    static constexpr char const* name = "clflushopt";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile("clflushopt %0" : "+m"(*line) : : "memory");
    }
  };
  struct clflush {
    static constexpr char const* name = "clflush";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile("clflush %0" : "+m"(*line) : : "memory");
    }
  };

  /// The features of this processor, queried once.
  struct features {
    bool has_clwb = false;
    bool has_clflushopt = false;
    std::size_t line_bytes = 64;

    static features const& here() noexcept {
      static features const found = ask();
      return found;
    }

   private:
    struct registers {
      std::uint32_t a, b, c, d;
    };
    static registers cpuid(std::uint32_t leaf) noexcept {
      registers r{.a = leaf, .b = 0, .c = 0, .d = 0};
      asm volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
      return r;
    }
    static features ask() noexcept {
      features found;
      if (auto const flush = cpuid(1).b >> 8U & 0xffU; flush != 0) found.line_bytes = flush * std::size_t{8};
      if (cpuid(0).a >= 7) {
        auto const extended = cpuid(7).b;
        found.has_clflushopt = (extended >> 23U & 1U) != 0;
        found.has_clwb = (extended >> 24U & 1U) != 0;
      }
      return found;
    }
  };

  static std::size_t line_bytes() noexcept { return features::here().line_bytes; }

  /// Calls use(step), where step(line) writes a line back by the cheapest instruction of this processor.
  template <class Use>
  static auto with_clean(Use&& use) {
    if (features::here().has_clwb) return use(clwb{});
    if (features::here().has_clflushopt) return use(clflushopt{});
    return use(clflush{});
  }
  /// Calls use(step), where step(line) writes a line back and drops it. Never clwb, which may keep the line.
  template <class Use>
  static auto with_drop(Use&& use) {
    if (features::here().has_clflushopt) return use(clflushopt{});
    return use(clflush{});
  }

  // sfence: waits for earlier cleans and puts past the cache, and holds later stores back. It does not hold
  // loads back.
  [[gnu::always_inline]] static void drain_stores() noexcept { asm volatile("sfence" : : : "memory"); }

  // mfence, not sfence. A load may pass an earlier sfence, and an earlier clflush or clflushopt even of its
  // own line. It would then return the copy that should be dropped. Only mfence holds later loads back.
  [[gnu::always_inline]] static void drain_all() noexcept { asm volatile("mfence" : : : "memory"); }

  // A store past the cache first evicts any copy. It then writes the bytes that it names, and no others, to
  // memory.

  [[gnu::always_inline]] static void put_8(std::byte* to, std::uint64_t value) noexcept {
    asm volatile("movnti %1, %0" : "=m"(*reinterpret_cast<std::uint64_t*>(to)) : "r"(value) : "memory");
  }
  [[gnu::always_inline]] static void put_4(std::byte* to, std::uint32_t value) noexcept {
    asm volatile("movnti %1, %0" : "=m"(*reinterpret_cast<std::uint32_t*>(to)) : "r"(value) : "memory");
  }
  /// Writes those of 16 bytes whose byte of the mask has its highest bit set. `to` is a multiple of 16, so
  /// that all 16 bytes, written or not, lie on one page.
  [[gnu::always_inline]] static void put_masked(std::byte* to, std::byte const (&value)[16],
                                                std::byte const (&mask)[16]) noexcept {
    asm volatile(
        "movdqu %[value], %%xmm0\n\t"
        "movdqu %[mask], %%xmm1\n\t"
        "maskmovdqu %%xmm1, %%xmm0"
        :
        : "D"(to), [value] "m"(value), [mask] "m"(mask)
        : "memory", "xmm0", "xmm1");
  }

  /// Copies past the cache: whole words from the first aligned one on, and single bytes at both ends. The
  /// ends must not be ordinary stores. Those would bring the line into the cache, and a clean would write
  /// neighbours' old bytes.
  static void put_past(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    while (bytes != 0) {
      auto const address = reinterpret_cast<std::uintptr_t>(to);
      std::size_t done = 0;
      if (address % 8 == 0 && bytes >= 8) {
        for (; bytes - done >= 8; done += 8) {
          std::uint64_t value;
          __builtin_memcpy(&value, from + done, sizeof value);
          put_8(to + done, value);
        }
      } else if (address % 4 == 0 && bytes >= 4) {
        std::uint32_t value;
        __builtin_memcpy(&value, from, sizeof value);
        put_4(to, value);
        done = 4;
      } else {
        std::byte value[16]{};
        std::byte mask[16]{};
        std::size_t const place = address % 16;
        std::size_t const word_end = 4 - address % 4;
        done = bytes < word_end ? bytes : word_end;
        for (std::size_t i = 0; i < done; ++i) {
          value[place + i] = from[i];
          mask[place + i] = std::byte{0x80};
        }
        put_masked(to - place, value, mask);
      }
      to += done;
      from += done;
      bytes -= done;
    }
  }
};

}  // namespace PGAS_NAMESPACE::processor
