// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/sysinfo.h>

#include <array>
#include <bit>
#include <cstdint>
#include <pgas/detail/job/control_groups.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A set of a machine's cores, a bit for each. Linux has at most 8192.
struct core_set {
  std::array<std::uint64_t, 128> bits{};

  [[nodiscard]] int count() const noexcept {
    int cores = 0;
    for (std::uint64_t const each : bits) cores += std::popcount(each);
    return cores;
  }
};

/// The cores on which this thread, and all that it starts, may run. Empty if the system does not tell.
///
/// taskset, a launcher that binds, and a cpuset of a container leave a process fewer cores than the machine
/// has.
[[nodiscard]] inline core_set allowed_cores() noexcept {
  core_set found;
  if (::sched_getaffinity(0, sizeof found.bits, reinterpret_cast<::cpu_set_t*>(found.bits.data())) != 0)
    return {};
  return found;
}

/// The whole cores that one control group's quota of processor time is worth, at least one; no_limit if it
/// has no quota.
inline std::uint64_t cores_in_group(std::string const& folder, int version) {
  std::string const file = folder + (version == 2 ? "/cpu.max" : "/cpu.cfs_quota_us");
  std::uint64_t const quota = number_after(file, "");
  if (quota >= no_limit / 4) return no_limit;  // "max", or -1 of version 1
  std::uint64_t period = 0;
  if (version == 1) {
    period = number_after(folder + "/cpu.cfs_period_us", "");
  } else {
    auto const take = [&](std::string_view line) {
      take_word(line);
      period = leading_number(line.data());  // ends with a zero: a line of fgets
      return false;
    };
    for_each_line(file, take);
  }
  return period == 0 || period == no_limit ? no_limit : std::max<std::uint64_t>(1, quota / period);
}

/// The whole cores that the groups' quotas are worth, of which the tightest counts. Ranks that spin on more
/// cores use the quota up early, and the system then stops them all for the rest of a period.
[[nodiscard]] inline std::uint64_t cores_in_quota(control_groups const& groups) {
  auto const limit = [&](std::string const& folder) { return cores_in_group(folder, groups.version); };
  return groups.least(limit);
}

/// The number of cores that threads which may run on these can use at once: as many as the control groups
/// allow, and at least one.
[[nodiscard]] inline int usable_cores(core_set const& allowed) {
  // Never destroyed, since a destructor of a static object may run a job.
  using both = std::array<control_groups, 2>;
  static both const& groups = *new both{groups_with("cpu", 1), groups_with("cpu", 2)};
  int const there = allowed.count();
  auto least = static_cast<std::uint64_t>(std::max(1, there > 0 ? there : ::get_nprocs()));
  for (auto const& each : groups) least = std::min(least, cores_in_quota(each));
  return static_cast<int>(least);
}

/// The number of cores that this thread, and all that it starts, can use at once.
[[nodiscard]] inline int available_cores() { return usable_cores(allowed_cores()); }

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
