// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The most ranks of a checked job: a record has six bits for its rank.
inline constexpr rank_t most_ranks = 64;

/// One rank's knowledge of the others: how many releases of each happened before its present.
using vector_clock = std::array<std::uint32_t, most_ranks>;
/// The same in memory that all ranks share, for as many ranks as the job has.
using shared_clock = std::span<std::uint32_t>;

/// Adds the knowledge of `b` to `a`.
inline void join(std::span<std::uint32_t> a, std::span<std::uint32_t const> b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
