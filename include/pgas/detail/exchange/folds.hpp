// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/shared_pieces.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Folds piece i for a root above rank 1 whose result replaces its elements. The elements are copied to the
/// root's shared area first.
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
      copy_bytes(m.own(i), piece.data(), piece.size());
      m.post(i);
    }
    if (i == 0 || !reads) continue;
    auto const out = pieces.of(result, i - 1);
    // The result may replace this rank's elements, so a root reads its elements before that.
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

/// The root, or every rank, gets op over all ranks' elements by way of the shared areas.
template <posting_medium M>
steps reduce_from_areas(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  return m.size() == 2 || mine.size() <= few_bytes ? reduce_alone(m, mine, result, fold, root)
                                                   : reduce_by_range(m, mine, result, fold, root);
}

/// Each rank gets op over all ranks' elements in its block, from a share of each shared area.
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

/// The operands of a reduction, piece by piece, and room for operands that system calls fetch.
class operands {
 public:
  static constexpr std::size_t line = 64;

  /// For `bytes` bytes, in elements of `unit` bytes.
  operands(std::size_t bytes, std::size_t unit)
      : bytes_(std::max(std::min(longest, bytes) / unit, std::size_t{1}) * unit),
        room_(plain_list<std::byte>::for_overwrite(2 * bytes_ + 2 * line)) {}
  /// The longest piece of whole elements for which all buffers together fit into a core's second-level cache.
  [[nodiscard]] std::size_t piece_bytes() const noexcept { return bytes_; }
  /// Folds `out.size()` bytes that begin at byte `at` of each rank's operands into `out`, in rank order.
  /// `out` may lie in the place of this rank's operands.
  template <reaching_medium M>
  void fold_piece(M& m, bytes_in mine, std::size_t at, bytes_out out, folding const& fold) {
    std::byte const* left = nullptr;
    for (rank_t r = 0; r < m.size(); ++r) {
      std::byte const* const right = of(m, r, mine, at, out.size());
      if (r == 0) {
        left = right;
        continue;
      }
      // Own operands are read before the last operand is.
      std::byte* const into = r + 1 == m.size() ? out.data() : aligned(0);
      fold(into, left, right, out.size());
      left = into;
    }
  }
  /// A buffer for the result of a piece.
  [[nodiscard]] std::byte* result() noexcept { return aligned(0); }

 private:
  /// Long enough that a system call costs little compared with its bytes.
  static constexpr std::size_t longest = std::size_t{128} << 10U;

  template <reaching_medium M>
  std::byte const* of(M& m, rank_t r, bytes_in mine, std::size_t at, std::size_t bytes) {
    if (r == m.rank()) return mine.data() + at;
    memory_place const place = m.offered(r, 0);
    if (std::byte const* const there = m.address_of(place); there != nullptr) return there + at;
    std::byte* const room = aligned(bytes_ + line);
    m.fetch(r, place, at, bytes_out(room, bytes));
    return room;
  }
  std::byte* aligned(std::size_t at) noexcept {
    auto const past = reinterpret_cast<std::uintptr_t>(room_.begin() + at) % line;
    return room_.begin() + at + (past == 0 ? 0 : line - past);
  }

  std::size_t bytes_;
  plain_list<std::byte> room_;
};

/// Whether a reduction of so many bytes on each rank tries to read operands where they lie. All ranks must
/// be in reach, which more than two ranks find out by a round of offers.
template <posting_medium M>
bool folds_from_memory(M const& m, std::size_t bytes, folding const& fold) noexcept {
  return bytes >= (m.size() == 2 ? offered_bytes : 8 * offered_bytes) && fold.alignment() <= operands::line;
}

/// Each rank folds one range of the elements in place, and writes the result to the ranks that want it: each
/// operand is read once. The result may replace a rank's operands, since the rank that writes a range is the
/// only one that reads it.
template <reaching_medium M>
steps reduce_from_memory(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  m.begin(unknown_bytes);
  rank_t const self = m.rank();
  auto const wants = [root](rank_t r) { return root == every_rank || root == r; };
  bool const is_stream = root != every_rank;
  memory_place const source = place_for_copies(m, mine, is_stream);
  memory_place const target = wants(self) ? place_for_copies(m, result, is_stream) : memory_place{};
  if (!m.is_free(0)) co_await m.until_free(0);
  m.offer(0, source);
  if (!m.is_free(1)) co_await m.until_free(1);
  m.offer(1, target);
  bool all_reach = source.is_there() && (target.is_there() || !wants(self));
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r == self) continue;
    co_await m.posted(r, 1);
    all_reach = all_reach && m.offered(r, 0).is_there() && (m.offered(r, 1).is_there() || !wants(r));
  }
  if (!all_reach) {
    // All ranks have read the same offers, so all of them turn to the shared areas.
    m.end();
    co_await reduce_from_areas(m, mine, result, fold, root);
    co_return;
  }
  std::size_t const unit = fold.element_bytes();
  auto const first_of = [&](rank_t r) {
    return mine.size() / unit * static_cast<std::size_t>(r) / static_cast<std::size_t>(m.size()) * unit;
  };
  std::size_t const end = first_of(self + 1);
  operands pieces(end - first_of(self), unit);
  for (std::size_t at = first_of(self); at < end; at += pieces.piece_bytes()) {
    std::size_t const bytes = std::min(pieces.piece_bytes(), end - at);
    bytes_out const out = wants(self) ? result.subspan(at, bytes) : bytes_out(pieces.result(), bytes);
    pieces.fold_piece(m, mine, at, out, fold);
    for (rank_t distance = 1; distance < m.size(); ++distance) {
      rank_t const r = (self + distance) % m.size();
      if (wants(r)) m.deliver(r, m.offered(r, 1), at, out);
    }
  }
  // Carries the results, and says that this rank reads operands no more.
  if (!m.is_free(2)) co_await m.until_free(2);
  m.post(2);
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r != self) co_await m.posted(r, 2);
  }
  m.end();
}

/// Each rank folds its block of the elements in place.
template <reaching_medium M>
steps reduce_shares_from_memory(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, folding fold) {
  m.begin(unknown_bytes);
  // The results would replace elements that other ranks have not read.
  memory_place const source = do_overlap(all, mine) ? memory_place{} : place_for_copies(m, all);
  if (!m.is_free(0)) co_await m.until_free(0);
  m.offer(0, source);
  bool all_reach = source.is_there();
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r == m.rank()) continue;
    co_await m.posted(r, 0);
    all_reach = all_reach && m.offered(r, 0).is_there();
  }
  if (!all_reach) {
    m.end();
    co_await reduce_shares(m, all, sizes, mine, fold);
    co_return;
  }
  operands pieces(mine.size(), fold.element_bytes());
  for (std::size_t at = 0; at < mine.size(); at += pieces.piece_bytes()) {
    bytes_out const out = mine.subspan(at, std::min(pieces.piece_bytes(), mine.size() - at));
    pieces.fold_piece(m, all, sizes.first(m.rank()) + at, out, fold);
  }
  m.end();
  co_await read_by_all(m);
}

/// An exclusive scan of two ranks: rank 1 gets the elements of rank 0, in one copy where it can.
template <reaching_medium M>
steps pass_on(M& m, bytes_in mine, bytes_out result) {
  m.begin(unknown_bytes);
  if (m.rank() == 0) {
    m.end();
    co_await send_whole(m, mine, 1);
  } else {
    co_await receive_whole(m, 0, result);
    m.end();
  }
}

/// A scan by way of the shared areas. A rank reads short elements of all ranks before it. Long ones make a
/// chain, in which each rank passes on the pieces that it has folded.
template <posting_medium M>
steps scan_on_areas(M& m, bytes_in mine, bytes_out result, folding fold, bool is_exclusive) {
  cut const pieces(mine.size(), fold.element_bytes(), M::buffer_bytes);
  m.begin(bytes_in_room(pieces.longest(), fold));
  rank_t const self = m.rank();
  bool const chains = mine.size() > few_bytes;
  bool const is_last = self + 1 == m.size();
  // The last rank posts elements that only it reads, if the result would replace them too early.
  bool const posts = !is_last || (!chains && !is_exclusive && self > 1 && mine.data() == result.data());
  if (self == 0) m.end();
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    auto const own = pieces.of(mine, i);
    auto const out = pieces.of(result, i);
    if (posts && !m.is_free(i)) co_await m.until_free(i);
    if (!chains || self == 0) {
      if (posts) {
        copy_bytes(m.own(i), own.data(), own.size());
        m.post(i);
      }
    }
    if (self == 0) {
      if (!is_exclusive) copy_bytes(out.data(), own.data(), own.size());
    } else if (chains) {
      co_await m.posted(self - 1, i);
      std::byte const* const before = m.piece(self - 1, i);
      if (posts) {
        fold(m.own(i), before, own.data(), own.size());
        m.post(i);
      }
      if (is_exclusive) {
        copy_bytes(out.data(), before, out.size());
      } else if (posts) {
        copy_bytes(out.data(), m.own(i), out.size());
      } else {
        fold(out.data(), before, own.data(), own.size());
      }
    } else {
      // Own elements come last, and are in the shared area already, so the result may replace them.
      rank_t const last = is_exclusive ? self - 1 : self;
      std::byte const* const kept = posts ? m.own(i) : own.data();
      if (last == 0) {
        co_await m.posted(0, i);
        copy_bytes(out.data(), m.piece(0, i), out.size());
      }
      for (rank_t r = 1; r <= last; ++r) {
        if (r == 1) co_await m.posted(0, i);
        if (r != self) co_await m.posted(r, i);
        std::byte const* const left = r == 1 ? m.piece(0, i) : out.data();
        fold(out.data(), left, r == self ? kept : m.piece(r, i), out.size());
      }
    }
    if (self != 0 && pieces.count() > M::buffers) m.done_to(i);
  }
  if (self != 0) m.end();
}

}  // namespace PGAS_NAMESPACE::detail
