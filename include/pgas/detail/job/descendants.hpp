// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A process, as /proc shows it.
struct descendant {
  ::pid_t pid;
  ::pid_t parent;
  ::pid_t group;
};

/// All descendants of this process that have not ended. If this process is a subreaper, it inherits its
/// children's orphans, so the result includes daemons. Empty if /proc is not there.
inline plain_list<descendant> descendants() {
  plain_list<descendant> all;
  ::DIR* const open = ::opendir("/proc");
  if (open == nullptr) return all;
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
    if (state != 'Z') all.add({.pid = static_cast<::pid_t>(pid), .parent = parent, .group = group});
  }
  ::closedir(open);
  // Moves the descendants to the front: first the children of this process, then theirs, and so on.
  std::size_t found = 0;
  ::pid_t parent = ::getpid();
  for (std::size_t next = 0;; parent = all[next++].pid) {
    for (std::size_t i = found; i < all.size(); ++i) {
      if (all[i].parent == parent) std::swap(all[i], all[found++]);
    }
    if (next == found) break;
  }
  all.cut(found);
  return all;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
