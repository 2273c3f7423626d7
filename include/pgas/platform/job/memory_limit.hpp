// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The bytes of memory that this process may still take: the smaller of the machine's free memory and the
/// rest of the control group's limit. Checked before memory is taken, since a process past the limit dies by
/// a signal without an error.
inline std::uint64_t available_memory() noexcept {
  constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  auto const number_in = [](char const* path, char const* format) noexcept {
    std::uint64_t value = unlimited;
    if (std::FILE* file = std::fopen(path, "re")) {
      char line[128];
      while (std::fgets(line, sizeof line, file) != nullptr) {
        unsigned long long parsed = 0;
        if (std::sscanf(line, format, &parsed) == 1) {  // NOLINT(cert-err34-c)
          value = parsed;
          break;
        }
      }
      std::fclose(file);
    }
    return value;
  };
  auto const left = [](std::uint64_t limit, std::uint64_t used) noexcept {
    if (limit == unlimited || used == unlimited) return unlimited;
    return used < limit ? limit - used : 0;
  };
  std::uint64_t const free_kib = number_in("/proc/meminfo", "MemAvailable: %llu kB");
  std::uint64_t const free_bytes = free_kib == unlimited ? unlimited : free_kib * 1024;
  std::uint64_t const group2 = left(number_in("/sys/fs/cgroup/memory.max", "%llu"),
                                    number_in("/sys/fs/cgroup/memory.current", "%llu"));
  std::uint64_t const group1 = left(number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%llu"),
                                    number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%llu"));
  std::uint64_t const group = group2 < group1 ? group2 : group1;
  return free_bytes < group ? free_bytes : group;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
