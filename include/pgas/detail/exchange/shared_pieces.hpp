// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/copy/streaming_copier.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Messages from so many bytes on may be copied straight from and to the ranks' memory: the waits of their
/// sender for the last reader cost less than a second copy.
inline constexpr std::size_t offered_bytes = 8192;

/// Up to so many bytes, each rank folds all elements by itself: one round is sooner over than two.
inline constexpr std::size_t few_bytes = 4096;

inline constexpr rank_t every_rank = -1;  ///< in the place of a root: all ranks want the result
inline constexpr rank_t no_rank = -1;     ///< in the place of a rank that is left out

/// The length of elements of which a slot's room holds some, unless they must be aligned better.
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

/// Whether the medium has found out that lines go quickly from one rank to the other.
template <posting_medium M>
bool is_near(M const& m) noexcept {
  if constexpr (requires { m.is_near(); }) {
    return m.is_near();
  } else {
    return false;
  }
}

/// Writes to this rank's shared area a piece of a message of `total` bytes.
///
/// The other rank's cache often holds the buffer's lines, which a plain store takes back one by one. Two
/// ranks that are not near write messages of middle length past the caches, so that they need not. More ranks
/// may share a cache, and shorter messages wait for the memory longer than for the lines.
template <posting_medium M>
void write_piece(M const& m, std::byte* to, bytes_in piece, std::size_t total) noexcept {
  if (m.size() == 2 && total >= offered_bytes && !is_near(m)) {
    stream(to, piece.data(), piece.size());
  } else {
    copy_bytes(to, piece.data(), piece.size());
  }
}

/// Writes piece i: the share of each rank but `except`, in rank order, each with a head of so many bytes.
template <posting_medium M>
void lay_out_shares(M const& m, std::byte* piece, bytes_in all, block_sizes const& sizes, std::size_t share,
                    std::size_t i, rank_t except, std::size_t head = 0) noexcept {
  std::size_t const most = share - head;
  for (rank_t r = 0; r < m.size(); ++r, piece += share) {
    auto const block = sizes.of(all, r);
    if (r == except) continue;
    if (head != 0 && i == 0) write_head(piece, block.size());
    if (i * most >= block.size()) continue;
    write_piece(m, piece + head, block.subspan(i * most, std::min(most, block.size() - i * most)),
                all.size());
  }
}

/// Whether some byte belongs to both.
inline bool do_overlap(bytes_in a, bytes_out b) noexcept {
  std::less<> const before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
