// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/platform/job/block.hpp>
#include <pgas/support/plain_list.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A rank that waits or has finished, as a search for a deadlock has seen it.
struct sighting {
  rank_t rank;
  std::uint64_t wait;    ///< the number of its wait; see job_block::rank_record
  std::uint64_t checks;  ///< how often that wait had found its condition false
  bool finished;
  friend bool operator==(sighting const& a, sighting const& b) noexcept {
    return a.rank == b.rank && a.wait == b.wait;
  }
};

/// The largest set of ranks in which each rank has finished, or waits for ranks of the set only. Nothing
/// outside the set can signal any of its ranks. The result is empty if none of them waits.
///
/// Without `copies` a rank whose record is a copy counts as one that can go on: a copy may be old, and only
/// the rank that receives them knows that it has none to receive.
///
/// Costs n^2 / 64 operations on words for n ranks, times the number of passes, which is small unless ranks
/// form long chains.
[[nodiscard]] inline plain_list<sighting> blocked_ranks(job_block const& block, bool copies = true) {
  std::size_t const size = block.ranks;
  std::size_t const words = (size + 63) / 64;
  auto const bit = [](std::size_t r) { return std::uint64_t{1} << (r % 64); };
  plain_list<std::uint64_t> in(words);
  plain_list<std::uint64_t> awaited(size * words);
  plain_list<sighting> seen(size);
  for (std::size_t r = 0; r < size; ++r) {
    auto const& record = block.records[r];
    auto const wait = record.wait.load(std::memory_order_acquire);  // pairs with the release in publish()
    seen[r] = {static_cast<rank_t>(r), wait, record.checks.load(std::memory_order_acquire),
               record.phase.load(std::memory_order_acquire) == job_block::finished};
    std::uint64_t named = 0;
    for (std::size_t i = 0; i < words && wait % 2 == 1; ++i) {
      // acquire: the second load of `wait` stays behind this one.
      named |= awaited[r * words + i] = record.awaited[i].load(std::memory_order_acquire);
    }
    bool const is_old = !copies && record.is_copy.load(std::memory_order_relaxed) != 0;
    bool const waits = !is_old && named != 0 && record.wait.load(std::memory_order_relaxed) == wait;
    if ((seen[r].finished && !is_old) || waits) in[r / 64] |= bit(r);
  }
  auto const leaves = [&](std::size_t r) {
    if ((in[r / 64] & bit(r)) == 0 || seen[r].finished) return false;
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < words; ++i) outside |= awaited[r * words + i] & ~in[i];
    if (outside != 0) in[r / 64] &= ~bit(r);
    return outside != 0;
  };
  // Forwards and backwards in turn: a chain of waits in either direction leaves the set in one pass.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < size; ++r) changed = leaves(r) || changed;
    for (std::size_t r = size; r-- > 0 && changed;) leaves(r);
  }
  std::size_t kept = 0;
  bool any_waits = false;
  for (std::size_t r = 0; r < size; ++r) {
    if ((in[r / 64] & bit(r)) == 0) continue;
    any_waits = any_waits || !seen[r].finished;
    seen[kept++] = seen[r];
  }
  if (!any_waits) kept = 0;
  seen.cut(kept);
  return seen;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
