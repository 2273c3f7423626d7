// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/detail/job/control_groups.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The bytes that one control group may still take. If fewer bytes than `wanted` are free, it counts the
/// pages of files, which the system gives up first. memory.high is no limit here: it slows a process, and
/// kills none.
inline std::uint64_t memory_left_in(std::string const& folder, int version, std::uint64_t wanted) {
  std::uint64_t const limit =
      number_after(folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes"), "");
  if (limit >= no_limit / 4) return no_limit;  // version 1 says so by such a number
  std::uint64_t const used =
      number_after(folder + (version == 2 ? "/memory.current" : "/memory.usage_in_bytes"), "");
  if (used == no_limit) return no_limit;
  std::uint64_t const free = used < limit ? limit - used : 0;
  if (free >= wanted) return free;
  std::uint64_t files = 0;
  for (char const* const key : {"inactive_file ", "active_file "}) {
    std::uint64_t const bytes =
        number_after(folder + "/memory.stat", text_of({version == 2 ? "" : "total_", key}));
    if (bytes != no_limit) files += bytes;
  }
  std::uint64_t const needed = used - std::min(used, files);
  return needed < limit ? limit - needed : 0;
}

/// The bytes that all groups of a hierarchy may still take.
inline std::uint64_t memory_left(control_groups const& groups, std::uint64_t wanted) {
  auto const limit = [&](std::string const& folder) {
    return memory_left_in(folder, groups.version, wanted);
  };
  return groups.least(limit);
}

/// The bytes that this process may still take if it wants `wanted`: the least of the machine's free memory
/// and of what the control groups leave. Checked before memory is taken, since a process past the limit dies
/// by a signal without an error.
inline std::uint64_t available_memory(std::uint64_t wanted) {
  // Never destroyed, since a destructor of a static object may run a job.
  using both = std::array<control_groups, 2>;
  static both const& groups = *new both{groups_with("memory", 1), groups_with("memory", 2)};
  std::uint64_t const free_kib = number_after("/proc/meminfo", "MemAvailable:");
  std::uint64_t least = free_kib == no_limit ? no_limit : free_kib * 1024;
  for (auto const& each : groups) least = std::min(least, memory_left(each, wanted));
  return least;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
