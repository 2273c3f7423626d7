// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The processor's own count of time, for comparing times within one rank; 0 where this library knows none.
/// Costs some 10 ns, and no header.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
