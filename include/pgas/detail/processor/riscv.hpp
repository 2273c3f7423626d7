// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::processor {

/// RISC-V with Zicbom, in user mode if the system allows it (senvcfg.CBCFE).
struct riscv {
  /// No store goes past the cache. A put is a store and a clean, which may write the rest of the line, too.
  static constexpr bool puts_are_exact = false;

  // Encoded as numbers, since an assembler rejects the names unless it knows that the processor has them.
  struct cbo_clean {
    static constexpr char const* name = "cbo.clean";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile(".insn i 0x0f, 2, x0, %0, 1" : : "r"(line) : "memory");
    }
  };
  struct cbo_flush {
    static constexpr char const* name = "cbo.flush";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(line) : "memory");
    }
  };

  /// The length that profiles from RVA22 on prescribe (Zic64b); user mode cannot query it.
  static constexpr std::size_t line_bytes() noexcept { return 64; }

  template <class Use>
  static auto with_clean(Use&& use) {
    return use(cbo_clean{});
  }
  template <class Use>
  static auto with_drop(Use&& use) {
    return use(cbo_flush{});
  }

  // Cache operations are ordered as stores.
  [[gnu::always_inline]] static void drain_stores() noexcept { asm volatile("fence rw, w" : : : "memory"); }
  [[gnu::always_inline]] static void drain_all() noexcept { asm volatile("fence rw, rw" : : : "memory"); }
};

}  // namespace PGAS_NAMESPACE::processor
