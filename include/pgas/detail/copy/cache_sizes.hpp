// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <pgas/detail/process/setting.hpp>

namespace PGAS_NAMESPACE::detail {

/// PGAS_CACHED_BYTES, if it is set. Throws if it is no number, so a job looks at it when it starts.
inline std::optional<std::size_t> cached_bytes_given() {
  auto const given = setting::variable("PGAS_CACHED_BYTES");
  if (!given.given()) return std::nullopt;
  return given.whole("a number of bytes", 0, std::numeric_limits<std::size_t>::max());
}

/// Copies of more bytes pass the caches: PGAS_CACHED_BYTES, else the size of a core's second level cache.
///
/// Such a copy would push all else out of that cache, and each of its stores would first read the line that
/// it overwrites.
inline std::size_t longest_cached_copy() {
  static std::size_t const bytes = [] {
    if (auto const given = cached_bytes_given(); given) return *given;
    long const of_core = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // slow: a virtual machine's host answers it
    return of_core > 0 ? static_cast<std::size_t>(of_core) : std::size_t{2} << 20U;
  }();
  return bytes;
}

}  // namespace PGAS_NAMESPACE::detail
