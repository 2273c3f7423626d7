// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

#if defined(__x86_64__)
#include <pgas/detail/processor/x86_64.hpp>
#endif

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Returns whether hand_on_line does anything on this processor.
[[nodiscard]] inline bool hands_on_lines() noexcept {
#if defined(__x86_64__)
  return processor::x86_64::features::here().has_cldemote;
#else
  return false;
#endif
}

/// Moves a line from this core's own caches to the cache that all cores share. Another core that changes the
/// line next finds it there, and need not ask this core. Never faults, and orders nothing.
///
/// A core that changes the line again itself first fetches it back, which takes as long as from another core.
///
/// On x86-64 it is the instruction cldemote, a hint. A processor that does not know it does nothing, since
/// its code is one of those kept for hints. Source: Intel's manual, CLDEMOTE and CPUID leaf 7.
template <class T>
[[gnu::always_inline]] inline void hand_on_line([[maybe_unused]] T const* at) noexcept {
#if defined(__x86_64__)
  asm volatile("cldemote %0" : : "m"(*at) : "memory");
#endif
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
