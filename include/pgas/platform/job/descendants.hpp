// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pgas/support/expects.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A process below this one: its number and its group.
struct descendant {
  ::pid_t pid;
  ::pid_t group;
};

/// All descendants of this process that have not ended. If this process is a subreaper, it inherits its
/// children's orphans, so the result includes daemons. Empty if /proc is not there.
inline std::vector<descendant> descendants() {
  struct process {
    ::pid_t pid, parent, group;
  };
  std::vector<process> all;
  ::DIR* const open = ::opendir("/proc");
  if (open == nullptr) return {};
  while (::dirent const* const entry = ::readdir(open)) {
    char* end = nullptr;
    long const pid = std::strtol(entry->d_name, &end, 10);
    if (*end != '\0' || pid <= 0) continue;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) continue;  // it has ended
    char line[512];
    std::size_t const bytes = std::fread(line, 1, sizeof line - 1, file);
    std::fclose(file);
    line[bytes] = '\0';
    // The command's name is in parentheses, and may itself contain parentheses.
    char const* const name_end = std::strrchr(line, ')');
    char state = 0;
    int parent = 0;
    int group = 0;
    if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d %d", &state, &parent, &group) != 3) continue;
    if (state != 'Z') all.push_back({.pid = static_cast<::pid_t>(pid), .parent = parent, .group = group});
  }
  ::closedir(open);
  std::vector<descendant> found;
  std::vector<::pid_t> parents{::getpid()};
  while (!parents.empty()) {
    ::pid_t const parent = parents.back();
    parents.pop_back();
    for (auto const& p : all) {
      if (p.parent != parent) continue;
      found.push_back({.pid = p.pid, .group = p.group});
      parents.push_back(p.pid);
    }
  }
  return found;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
