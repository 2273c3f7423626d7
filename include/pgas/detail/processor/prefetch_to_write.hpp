// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Requests the line of an address that this thread will write soon. Never faults.
///
/// On x86-64 it is the instruction prefetchw, which takes the line from other caches. By default compilers
/// choose an instruction that only reads the line, and the write then requests it again. A processor without
/// prefetchw does nothing. Source: AMD's and Intel's manuals, PREFETCHW.
template <class T>
[[gnu::always_inline]] inline void prefetch_to_write(T const* at) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace PGAS_NAMESPACE::detail
