// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <pgas/support/algorithms.hpp>
#include <pgas/support/expects.hpp>
#include <pgas/support/function_ref.hpp>
#include <pgas/support/text_of.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

inline constexpr std::uint64_t no_memory_limit = std::numeric_limits<std::uint64_t>::max();

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

/// The number after `key` in a file of lines; no_memory_limit if there is none, as for "max".
inline std::uint64_t number_after(std::string const& path, std::string_view key) {
  std::uint64_t value = no_memory_limit;
  auto const take = [&](std::string_view line) {
    if (!line.starts_with(key)) return true;
    char* end = nullptr;
    char const* const digits = line.data() + key.size();  // ends with a zero: a line of fgets
    unsigned long long const number = std::strtoull(digits, &end, 10);
    if (end != digits) value = number;
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

/// The control groups of one hierarchy that limit the memory of this process: its own, and those around it.
/// The tighter limit may be on any level.
struct memory_groups {
  std::string own;      ///< the folder of the own group; empty: there is no such hierarchy
  std::size_t top = 0;  ///< so much of that name is the folder of the outermost group
  int version = 2;      ///< of the control groups: 1 or 2

  /// The bytes that the groups may still take.
  [[nodiscard]] std::uint64_t left(std::uint64_t wanted) const {
    std::uint64_t least = no_memory_limit;
    for (std::string folder = own; !folder.empty();) {
      least = std::min(least, left_in(folder, wanted));
      if (folder.size() == top) break;
      folder.erase(folder.rfind('/'));
    }
    return least;
  }

 private:
  /// If fewer bytes than `wanted` are free, it counts the pages of files, which the system gives up first.
  /// memory.high is no limit here: it slows a process, and kills none.
  [[nodiscard]] std::uint64_t left_in(std::string const& folder, std::uint64_t wanted) const {
    std::uint64_t const limit =
        number_after(folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes"), "");
    if (limit >= no_memory_limit / 4) return no_memory_limit;  // version 1 says so by such a number
    std::uint64_t const used =
        number_after(folder + (version == 2 ? "/memory.current" : "/memory.usage_in_bytes"), "");
    if (used == no_memory_limit) return no_memory_limit;
    std::uint64_t const free = used < limit ? limit - used : 0;
    if (free >= wanted) return free;
    std::uint64_t files = 0;
    for (char const* const key : {"inactive_file ", "active_file "}) {
      std::uint64_t const bytes =
          number_after(folder + "/memory.stat", text_of({version == 2 ? "" : "total_", key}));
      if (bytes != no_memory_limit) files += bytes;
    }
    std::uint64_t const needed = used - std::min(used, files);
    return needed < limit ? limit - needed : 0;
  }
};

/// Takes the first word off a line, with the character that ends it.
inline std::string_view take_word(std::string_view& line, char end = ' ') {
  auto const at = line.find(end);
  auto const word = line.substr(0, at);
  line.remove_prefix(at == line.npos ? line.size() : at + 1);
  return word;
}

/// Finds the folder of the group `own`, if a line of /proc/self/mountinfo is the place of the memory groups
/// of this version. Returns whether it is.
inline bool find_mounted_groups(memory_groups& found, std::string_view line, std::string const& own,
                                std::string const& root) {
  for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
  std::string_view const mounted = take_word(line);  // the group that is visible at the place
  std::string_view const place = take_word(line);
  while (!line.empty() && take_word(line) != "-") {}
  auto const kind = take_word(line);
  take_word(line);
  if (kind != (found.version == 1 ? "cgroup" : "cgroup2")) return false;
  if (found.version == 1 && !lists(line, "memory")) return false;
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

/// The control groups of this process in the hierarchy of one version. `root` is put before all paths; a test
/// has a tree of its own.
inline memory_groups groups_of_version(int version, std::string const& root = "") {
  memory_groups found{.own = "", .version = version};
  std::string own;  // the group of this process
  auto const take_own = [&](std::string_view line) {
    take_word(line, ':');
    auto const controllers = take_word(line, ':');
    bool const is_it = version == 1 ? lists(controllers, "memory") : controllers.empty();
    if (is_it) own = line;
    return !is_it;
  };
  for_each_line(root + "/proc/self/cgroup", take_own);
  if (own.empty()) return found;
  auto const look_further = [&](std::string_view line) {
    return !find_mounted_groups(found, line, own, root);
  };
  for_each_line(root + "/proc/self/mountinfo", look_further);
  return found;
}

/// The bytes that this process may still take if it wants `wanted`: the least of the machine's free memory
/// and of what the control groups leave. Checked before memory is taken, since a process past the limit dies
/// by a signal without an error.
inline std::uint64_t available_memory(std::uint64_t wanted) {
  static memory_groups const groups[] = {groups_of_version(1), groups_of_version(2)};
  std::uint64_t const free_kib = number_after("/proc/meminfo", "MemAvailable:");
  std::uint64_t least = free_kib == no_memory_limit ? no_memory_limit : free_kib * 1024;
  for (auto const& each : groups) least = std::min(least, each.left(wanted));
  return least;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
