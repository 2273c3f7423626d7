// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Passes blocks round the circle of ranks: each rank has block `rank + ahead` first, and all blocks at the
/// end. In each of n - 1 rounds a rank sends what came in the round before.
template <linking_medium M>
steps pass_round(M& m, bytes_out all, block_sizes const& sizes, rank_t ahead) {
  link const up{0, false};
  rank_t const ranks = m.size();
  for (rank_t round = 0; round + 1 < ranks; ++round) {
    rank_t const out = (m.rank() + ahead - round + 2 * ranks) % ranks;
    rank_t const in = (out - 1 + ranks) % ranks;
    co_await m.exchange(up, sizes.of(all, out), up, sizes.of(all, in));
  }
}

/// Folds each block on its way round the circle. At the end, rank r has block r + 1 of the result, folded in
/// the order r + 1, r + 2, ..., r: for commutative operations.
template <linking_medium M>
steps fold_round(M& m, bytes_out all, block_sizes const& sizes, folding fold) {
  link const up{0, false};
  rank_t const ranks = m.size();
  for (rank_t round = 0; round + 1 < ranks; ++round) {
    rank_t const out = (m.rank() - round + ranks) % ranks;
    rank_t const in = (out - 1 + ranks) % ranks;
    std::byte* const into = sizes.of(all, in).data();
    auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
      fold(into + first, piece, into + first, bytes);
    };
    co_await m.exchange_and_take(up, sizes.of(all, out), up, sizes.size(in), fold.element_bytes(), take);
  }
}

/// n blocks of nearly equal numbers of elements.
inline block_sizes shares(std::size_t bytes, std::size_t unit, rank_t ranks) {
  plain_list<std::size_t> counts(static_cast<std::size_t>(ranks));
  std::size_t const elements = bytes / unit;
  for (std::size_t r = 0; r < counts.size(); ++r)
    counts[r] = elements * (r + 1) / counts.size() - elements * r / counts.size();
  return {counts, unit};
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
