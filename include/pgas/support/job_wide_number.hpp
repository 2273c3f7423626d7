// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <pgas/support/expects.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A number, never 0, that is unique in the job: the leader's rank and the count of the leader's calls.
inline std::uint64_t job_wide_number(int leader) noexcept {
  static std::atomic<std::uint32_t> led{0};
  // relaxed: the count orders nothing; it must only differ from call to call.
  return (static_cast<std::uint64_t>(leader) << 32U) + led.fetch_add(1, std::memory_order_relaxed) + 1;
}

inline std::string job_wide_text(char const* what, std::uint64_t number) {
  return what + (" " + std::to_string(number & 0xffffffffU)) + " of the team that rank " +
         std::to_string(number >> 32U) + " leads";
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
