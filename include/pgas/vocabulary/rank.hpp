// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/expects.hpp>
#include <span>

namespace PGAS_NAMESPACE {

/// Identifies a process within its team: 0, 1, ..., size - 1.
using rank_t = int;

/// A byte in the partitioned global address space: the rank of its part, and the offset there.
struct location {
  rank_t rank = 0;         ///< the owner of the memory
  std::size_t offset = 0;  ///< in bytes from the beginning of the owner's part

  friend constexpr bool operator==(location, location) = default;
};

/// The ranks that an epoch names, as numbers of its window's team. MPI: a group.
using group = std::span<rank_t const>;

/// Stands for all ranks of the team, without a list of them.
struct everyone_t {
  explicit everyone_t() = default;
};
/// The value to pass where a function takes a group or everyone.
inline constexpr everyone_t everyone{};

}  // namespace PGAS_NAMESPACE
