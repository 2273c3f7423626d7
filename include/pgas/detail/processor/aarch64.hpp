// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::processor {

/// Armv8, in user mode if the system allows it (SCTLR_EL1.UCI; Linux does). Maintenance is to the point of
/// coherency, which is memory.
struct aarch64 {
  /// No store goes past the cache. A put is a store and a clean, which writes the rest of the line, too.
  static constexpr bool puts_are_exact = false;

  struct dc_cvac {
    static constexpr char const* name = "dc cvac";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile("dc cvac, %0" : : "r"(line) : "memory");
    }
  };
  struct dc_civac {
    static constexpr char const* name = "dc civac";
    [[gnu::always_inline]] void operator()(std::byte* line) const noexcept {
      asm volatile("dc civac, %0" : : "r"(line) : "memory");
    }
  };

  /// The shortest line of all data caches, so that a walk meets every line.
  static std::size_t line_bytes() noexcept {
    std::uint64_t type = 0;
    asm("mrs %0, ctr_el0" : "=r"(type));
    return std::size_t{4} << (type >> 16U & 0xfU);
  }

  template <class Use>
  static auto with_clean(Use&& use) {
    return use(dc_cvac{});
  }
  template <class Use>
  static auto with_drop(Use&& use) {
    return use(dc_civac{});
  }

  // dsb, since dmb orders accesses but does not wait for maintenance. For the whole system (sy), since the
  // other users of this memory are outside the inner domain.
  [[gnu::always_inline]] static void drain_stores() noexcept { asm volatile("dsb sy" : : : "memory"); }
  [[gnu::always_inline]] static void drain_all() noexcept { asm volatile("dsb sy" : : : "memory"); }
};

}  // namespace PGAS_NAMESPACE::processor
