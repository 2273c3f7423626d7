// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/sysinfo.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// Stands for a limit that nobody has set.
inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Calls each(line) for the lines of a file, without their ends, until it returns false.
inline void for_each_line(std::string const& path, function_ref<bool(std::string_view)> each) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, file) != nullptr) {
    std::string_view line(buffer);
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (!each(line)) break;
  }
  std::fclose(file);
}

/// The number with which a text that ends with a zero begins; no_limit if it begins with none, as "max".
inline std::uint64_t leading_number(char const* text) noexcept {
  char* end = nullptr;
  unsigned long long const number = std::strtoull(text, &end, 10);
  return end != text ? number : no_limit;
}

/// The number after `key` in a file of lines; no_limit if there is none, as for "max".
inline std::uint64_t number_after(std::string const& path, std::string_view key) {
  std::uint64_t value = no_limit;
  auto const take = [&](std::string_view line) {
    if (!line.starts_with(key)) return true;
    value = leading_number(line.data() + key.size());  // ends with a zero: a line of fgets
    return false;
  };
  for_each_line(path, take);
  return value;
}

/// True if a list with commas has the word.
inline bool lists(std::string_view list, std::string_view word) {
  for (;;) {
    auto const comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// The control groups of one hierarchy that limit this process: its own, and those around it. The tighter
/// limit may be on any level.
struct control_groups {
  std::string own;      ///< the folder of the own group; empty: there is no such hierarchy
  std::size_t top = 0;  ///< so much of that name is the folder of the outermost group
  int version = 2;      ///< the version of the control groups: 1 or 2

  /// The least limit of all groups: limit(folder) is that of one.
  [[nodiscard]] std::uint64_t least(function_ref<std::uint64_t(std::string const& folder)> limit) const {
    std::uint64_t found = no_limit;
    for (std::string folder = own; !folder.empty();) {
      std::uint64_t const here = limit(folder);
      if (here < found) found = here;
      if (folder.size() == top) break;
      folder.erase(folder.rfind('/'));
    }
    return found;
  }
};

/// Removes the first word of a line, with the character that ends it.
inline std::string_view take_word(std::string_view& line, char end = ' ') {
  auto const at = line.find(end);
  auto const word = line.substr(0, at);
  line.remove_prefix(at == line.npos ? line.size() : at + 1);
  return word;
}

/// Finds the folder of the group `own`, if a line of /proc/self/mountinfo is the place of the groups of
/// this version that have the controller. Returns whether it is.
inline bool find_mounted_groups(control_groups& found, std::string_view line, std::string_view controller,
                                std::string const& own, std::string const& root) {
  for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
  std::string_view const mounted = take_word(line);  // the group that is visible at the place
  std::string_view const place = take_word(line);
  while (!line.empty() && take_word(line) != "-") {}
  auto const kind = take_word(line);
  take_word(line);
  if (kind != (found.version == 1 ? "cgroup" : "cgroup2")) return false;
  if (found.version == 1 && !lists(line, controller)) return false;
  // A container may see its own group as the root. Then nothing is known of the groups around it.
  std::string_view below = own;
  if (mounted != "/") {
    bool const inside =
        below.starts_with(mounted) && (below.size() == mounted.size() || below[mounted.size()] == '/');
    below = inside ? below.substr(mounted.size()) : "";
  }
  if (below.find("..") != below.npos) below = "";
  while (below.ends_with('/')) below.remove_suffix(1);
  found.own = text_of({root, place, below});
  found.top = root.size() + place.size();
  return true;
}

/// The control groups of this process in the hierarchy of one version that has the controller, such as
/// "memory". `root` is put before all paths; a test has a tree of its own.
inline control_groups groups_with(std::string_view controller, int version, std::string const& root = "") {
  control_groups found{.own = "", .version = version};
  std::string own;  // the group of this process
  auto const take_own = [&](std::string_view line) {
    take_word(line, ':');
    auto const controllers = take_word(line, ':');
    bool const is_it = version == 1 ? lists(controllers, controller) : controllers.empty();
    if (is_it) own = line;
    return !is_it;
  };
  for_each_line(root + "/proc/self/cgroup", take_own);
  if (own.empty()) return found;
  auto const look_further = [&](std::string_view line) {
    return !find_mounted_groups(found, line, controller, own, root);
  };
  for_each_line(root + "/proc/self/mountinfo", look_further);
  return found;
}

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

/// The bytes that one control group may still allocate. If fewer bytes than `wanted` are free, it counts the
/// pages of files, which the system reclaims first. memory.high is no limit here: it slows a process, and
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

/// The bytes that all groups of a hierarchy may still allocate.
inline std::uint64_t memory_left(control_groups const& groups, std::uint64_t wanted) {
  auto const limit = [&](std::string const& folder) {
    return memory_left_in(folder, groups.version, wanted);
  };
  return groups.least(limit);
}

/// The bytes that this process may still allocate if it wants `wanted`: the least of the machine's free
/// memory and of what the control groups leave. It is checked before allocation, since a process beyond the
/// limit is killed by a signal without an error.
inline std::uint64_t available_memory(std::uint64_t wanted) {
  // Never destroyed, since a destructor of a static object may run a job.
  using both = std::array<control_groups, 2>;
  static both const& groups = *new both{groups_with("memory", 1), groups_with("memory", 2)};
  std::uint64_t const free_kib = number_after("/proc/meminfo", "MemAvailable:");
  std::uint64_t least = free_kib == no_limit ? no_limit : free_kib * 1024;
  for (auto const& each : groups) least = std::min(least, memory_left(each, wanted));
  return least;
}

}  // namespace PGAS_NAMESPACE::detail
