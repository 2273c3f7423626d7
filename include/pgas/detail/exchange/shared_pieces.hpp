// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace PGAS_NAMESPACE::detail {

/// Messages of at least this many bytes may be copied straight between the ranks' memory. The sender then
/// waits for the last reader, which costs less than a second copy.
inline constexpr std::size_t offered_bytes = 8192;

/// For at most this many bytes, each rank folds all elements itself: one round takes less time than two.
inline constexpr std::size_t few_bytes = 4096;

inline constexpr rank_t every_rank = -1;  ///< instead of a root: all ranks want the result
inline constexpr rank_t no_rank = -1;     ///< instead of a rank that is left out

/// The length of elements of which some fit into a slot, unless they need a larger alignment.
inline std::size_t bytes_in_room(std::size_t bytes, folding const& fold) noexcept {
  return fold.alignment() > 16 ? unknown_bytes : bytes;
}

/// The bytes of a piece for each rank, if a piece has a share for each of them.
template <posting_medium M>
std::size_t share_of(M const& m, std::size_t block, std::size_t unit) noexcept {
  std::size_t const most = M::buffer_bytes / static_cast<std::size_t>(m.size());
  // Shares of whole lines do not share lines between readers.
  std::size_t const lines = most / 64 * 64;
  std::size_t const share = unit == 1 && lines != 0 ? lines : most / unit * unit;
  return std::min(block, share);
}

/// Writes piece i: the share of each rank but `except`, in rank order, each behind a head of this many bytes.
template <posting_medium M>
void lay_out_shares(M const& m, std::byte* piece, bytes_in all, block_sizes const& sizes, std::size_t share,
                    std::size_t i, rank_t except, std::size_t head = 0) noexcept {
  std::size_t const most = share - head;
  for (rank_t r = 0; r < m.size(); ++r, piece += share) {
    auto const block = sizes.of(all, r);
    if (r == except) continue;
    if (head != 0 && i == 0) write_head(piece, block.size());
    if (i * most >= block.size()) continue;
    auto const bytes = block.subspan(i * most, std::min(most, block.size() - i * most));
    copy_bytes(piece + head, bytes.data(), bytes.size());
  }
}

/// Whether the two ranges share a byte.
inline bool do_overlap(bytes_in a, bytes_out b) noexcept {
  std::less<> const before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace PGAS_NAMESPACE::detail
