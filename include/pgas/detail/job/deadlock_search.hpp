// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/job/block.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

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

/// Returns whether a rank that waits holds a lock that another one wants. Both have published their waits.
[[nodiscard]] inline bool holds_wanted(job_block::rank_record const& holder,
                                       job_block::rank_record const& waiter) noexcept {
  // acquire, for each: a later load of `wait` is not reordered before this one.
  std::uint64_t const part = waiter.wants[0].load(std::memory_order_acquire);
  std::uint64_t const all = waiter.wants[1].load(std::memory_order_acquire);
  if (part == 0 || holder.wait.load(std::memory_order_relaxed) % 2 == 0) return false;
  for (auto const& one : holder.holds) {
    std::uint64_t const held = one.load(std::memory_order_acquire);
    if (held == 0) return false;
    if (held == part || held == all) return true;
  }
  return false;
}

/// The largest set of ranks in which each rank has finished, or waits only for ranks of the set, or for a
/// lock that a rank of the set holds. Nothing outside the set can end any of these waits: the signal of one
/// awaited rank suffices, but a lock must be released by each rank that holds it. The result is empty if no
/// rank of the set waits.
///
/// Without `copies`, a rank whose record is a copy counts as one that can proceed: a copy may be old, and
/// only the rank that receives copies knows that it has none to receive.
///
/// A rank that waits holds its locks as long as its wait lasts.
///
/// Costs n^2 / 64 operations on words for n ranks, times the number of passes, which is small unless ranks
/// form long chains; and a look at the locks of each other rank for each rank that waits for an exclusive
/// one.
[[nodiscard]] inline plain_list<sighting> blocked_ranks(job_block const& block, bool copies = true) {
  std::size_t const size = block.ranks;
  std::size_t const words = (size + 63) / 64;
  auto const bit = [](std::size_t r) { return std::uint64_t{1} << (r % 64); };
  plain_list<std::uint64_t> in(words);
  plain_list<std::uint64_t> awaited(size * words);
  plain_list<std::uint64_t> holders(size * words);
  plain_list<sighting> seen(size);
  for (std::size_t r = 0; r < size; ++r) {
    auto const& record = block.records[r];
    auto const wait = record.wait.load(std::memory_order_acquire);  // pairs with the release in publish()
    seen[r] = {static_cast<rank_t>(r), wait, record.checks.load(std::memory_order_acquire),
               record.phase.load(std::memory_order_acquire) == job_block::finished};
    std::uint64_t named = 0;
    for (std::size_t i = 0; i < words && wait % 2 == 1; ++i) {
      // acquire: the second load of `wait` is not reordered before this one.
      named |= awaited[r * words + i] = record.awaited[i].load(std::memory_order_acquire);
    }
    bool const is_old = !copies && record.is_copy.load(std::memory_order_relaxed) != 0;
    // The part whose lock is awaited, and the locks of others, were published before their waits.
    named |= wait % 2 == 1 ? record.wants[0].load(std::memory_order_acquire) : 0;
    bool const waits = !is_old && named != 0 && record.wait.load(std::memory_order_relaxed) == wait;
    if ((seen[r].finished && !is_old) || waits) in[r / 64] |= bit(r);
  }
  for (std::size_t r = 0; r < size; ++r) {
    if ((in[r / 64] & bit(r)) == 0 || block.records[r].wants[0].load(std::memory_order_relaxed) == 0)
      continue;
    for (std::size_t h = 0; h < size; ++h) {
      bool const waits = (in[h / 64] & bit(h)) != 0 && !seen[h].finished && h != r;
      if (waits && holds_wanted(block.records[h], block.records[r])) holders[r * words + h / 64] |= bit(h);
    }
  }
  for (std::size_t r = 0; r < size; ++r) {
    // relaxed: after the loads of the locks, which therefore belong to the wait that was seen.
    if (block.records[r].wait.load(std::memory_order_relaxed) != seen[r].wait && !seen[r].finished)
      in[r / 64] &= ~bit(r);
  }
  auto const leaves = [&](std::size_t r) {
    if ((in[r / 64] & bit(r)) == 0 || seen[r].finished) return false;
    std::uint64_t named = 0;
    std::uint64_t outside = 0;
    std::uint64_t holds_on = 0;
    for (std::size_t i = 0; i < words; ++i) {
      named |= awaited[r * words + i];
      outside |= awaited[r * words + i] & ~in[i];
      holds_on |= holders[r * words + i] & in[i];
    }
    bool const goes_on = holds_on == 0 && (named == 0 || outside != 0);
    if (goes_on) in[r / 64] &= ~bit(r);
    return goes_on;
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
  seen.resize(kept);
  return seen;
}

}  // namespace PGAS_NAMESPACE::detail
