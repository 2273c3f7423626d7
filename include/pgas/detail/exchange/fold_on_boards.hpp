// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/board_pieces.hpp>
#include <pgas/detail/exchange/cut.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Folds piece i for a root above rank 1 whose result lies in the place of its elements. The elements move to
/// the root's board first.
template <posting_medium M>
steps fold_at_root(M& m, std::size_t i, bytes_out out, folding fold) {
  if (!m.is_free(i)) co_await m.until_free(i);
  copy_bytes(m.own(i), out.data(), out.size());
  m.post(i);
  co_await m.posted(0, i);
  for (rank_t r = 1; r < m.size(); ++r) {
    co_await m.posted(r, i);
    fold(out.data(), r == 1 ? m.piece(0, i) : out.data(), m.piece(r, i), out.size());
  }
}

/// Each rank that wants the result reads all ranks' elements. A root does not post, since nobody reads its
/// elements.
template <posting_medium M>
steps reduce_alone(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  cut const pieces(mine.size(), fold.element_bytes(), M::buffer_bytes);
  m.begin(bytes_in_room(pieces.longest(), fold));
  bool const reads = root == every_rank || root == m.rank();
  bool const posts = root != m.rank();
  rank_t const self = m.rank();
  if (!reads) m.end();
  for (std::size_t i = 0; i <= pieces.count(); ++i) {
    if (posts && i < pieces.count()) {
      if (!m.is_free(i)) co_await m.until_free(i);
      auto const piece = pieces.of(mine, i);
      write_piece(m, m.own(i), piece, mine.size());
      m.post(i);
    }
    if (i == 0 || !reads) continue;
    auto const out = pieces.of(result, i - 1);
    // The result may lie in the place of my elements, so those of a root are read before they are replaced.
    std::byte const* const own = posts ? m.own(i - 1) : pieces.of(mine, i - 1).data();
    if (!posts && self > 1 && own == out.data()) {
      co_await fold_at_root(m, i - 1, out, fold);
    } else {
      if (self != 0) co_await m.posted(0, i - 1);
      for (rank_t r = 1; r < m.size(); ++r) {
        if (r != self) co_await m.posted(r, i - 1);
        std::byte const* const left = r > 1 ? out.data() : self == 0 ? own : m.piece(0, i - 1);
        fold(out.data(), left, r == self ? own : m.piece(r, i - 1), out.size());
      }
    }
    if (pieces.count() > M::buffers) m.done_to(i - 1);
  }
  if (reads) m.end();
}

/// Each rank folds one range of each piece, and posts it for the ranks that want the result.
template <posting_medium M>
steps reduce_by_range(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  std::size_t const unit = fold.element_bytes();
  cut const pieces(mine.size(), unit, M::buffer_bytes);
  m.begin(unknown_bytes);
  rank_t const self = m.rank();
  auto const ranks = static_cast<std::size_t>(m.size());
  auto const range = [&](std::size_t bytes, rank_t r) {
    std::size_t const elements = bytes / unit;
    auto const at = static_cast<std::size_t>(r);
    return std::pair(elements * at / ranks * unit, elements * (at + 1) / ranks * unit);
  };
  // Piece 2i holds elements, piece 2i + 1 results.
  for (std::size_t i = 0; i < pieces.count() + 2; ++i) {
    if (i < pieces.count()) {
      if (!m.is_free(2 * i)) co_await m.until_free(2 * i);
      auto const piece = pieces.of(mine, i);
      copy_bytes(m.own(2 * i), piece.data(), piece.size());
      m.post(2 * i);
    }
    if (i > 0 && i - 1 < pieces.count()) {
      std::size_t const at = 2 * (i - 1);
      if (!m.is_free(at + 1)) co_await m.until_free(at + 1);
      auto const [first, end] = range(pieces.of(mine, i - 1).size(), self);
      std::byte* const out = m.own(at + 1) + first;
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != self) co_await m.posted(r, at);
        if (r == 0) continue;
        fold(out, r == 1 ? m.piece(0, at) + first : out, m.piece(r, at) + first, end - first);
      }
      m.post(at + 1);
    }
    if (i > 1) {
      std::size_t const at = 2 * (i - 2) + 1;
      if (root == every_rank || root == self) {
        auto const out = pieces.of(result, i - 2);
        for (rank_t distance = 0; distance < m.size(); ++distance) {
          rank_t const r = (self + distance) % m.size();
          if (r != self) co_await m.posted(r, at);
          auto const [first, end] = range(out.size(), r);
          copy_bytes(out.data() + first, m.piece(r, at) + first, end - first);
        }
      }
      // Elements of piece i - 2 were read one turn before.
      m.done_to(at);
    }
  }
  m.end();
}

/// The root, or every rank, gets op over all ranks' elements by way of the boards.
template <posting_medium M>
steps reduce_from_boards(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  return m.size() == 2 || mine.size() <= few_bytes ? reduce_alone(m, mine, result, fold, root)
                                                   : reduce_by_range(m, mine, result, fold, root);
}

/// Each rank gets op over all ranks' elements in its block, from a share of each board.
template <posting_medium M>
steps reduce_shares(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, folding fold) {
  rank_t const self = m.rank();
  std::size_t longest = 0;
  for (rank_t r = 0; r < m.size(); ++r) longest = std::max(longest, sizes.size(r));
  m.begin(bytes_in_room(longest * static_cast<std::size_t>(m.size()), fold));
  std::size_t const share = share_of(m, longest, fold.element_bytes());
  std::size_t const rounds = cut::pieces_of(longest, share);
  for (std::size_t i = 0; i <= rounds; ++i) {
    if (i < rounds) {
      if (!m.is_free(i)) co_await m.until_free(i);
      lay_out_shares(m, m.own(i), all, sizes, share, i, no_rank);
      m.post(i);
    }
    if (i == 0) continue;
    std::size_t const first = (i - 1) * share;
    if (first < mine.size()) {
      std::size_t const at = share * static_cast<std::size_t>(self);
      std::size_t const count = std::min(share, mine.size() - first);
      std::byte* const out = mine.data() + first;
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != self) co_await m.posted(r, i - 1);
        if (r == 0) continue;
        fold(out, r == 1 ? m.piece(0, i - 1) + at : out, m.piece(r, i - 1) + at, count);
      }
    }
    if (rounds > M::buffers) m.done_to(i - 1);
  }
  m.end();
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
