// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// A hash of two numbers. Two pairs have the same one with probability 2^-64.
[[nodiscard]] constexpr std::uint64_t number_of_pair(std::uint64_t of, std::int64_t and_of) noexcept {
  std::uint64_t number = (of ^ (static_cast<std::uint64_t>(and_of) * 0xd1342543de82ef95U)) + 1;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;  // from splitmix64
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

/// The calls of job_wide_number by this process.
struct led_so_far {
  static constexpr std::string_view shared_name = "job_wide_number";
  std::atomic<std::uint32_t> count{0};
};

/// A number, never 0, that is unique in the job: the leader's rank and the count of the leader's calls.
inline std::uint64_t job_wide_number(int leader) noexcept {
  std::atomic<std::uint32_t>& led = one_per_process<led_so_far>().count;
  // relaxed: the count orders nothing; it must only differ from call to call.
  return (static_cast<std::uint64_t>(leader) << 32U) + led.fetch_add(1, std::memory_order_relaxed) + 1;
}

inline std::string job_wide_text(char const* what, std::uint64_t number) {
  return what + (" " + std::to_string(number & 0xffffffffU)) + " of the team that rank " +
         std::to_string(number >> 32U) + " leads";
}

}  // namespace PGAS_NAMESPACE::detail
