// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/collective.hpp>
#include <pgas/platform/exchange/board_pieces.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A noting medium is a posting medium on which ranks also wait in place: `wait_free(i)` and
/// `wait_posted(r, i)` return when `until_free(i)` and `posted(r, i)` go on. Pieces of up to `short_bytes`
/// travel with their numbers.
template <class M>
concept noting_medium = posting_medium<M> && requires(M& m, rank_t r, std::size_t i) {
  m.wait_free(i);
  m.wait_posted(r, i);
  { M::short_bytes } -> std::convertible_to<std::size_t>;
};

/// Blocking collectives with one short piece a rank, each of which is a note in the slot of its number.
///
/// They are those of `collectives::direct` for such pieces, without the steps of a coroutine: the same pieces
/// in the same buffers, so that a rank that started its collective meets one that waits in it. A rank writes
/// its note before it touches anything else, and folds what comes in rank order.
///
/// Requires  equal lengths on all ranks, of 1 to `short_bytes` bytes, for all shares of a note together.
/// Lines     one for each note of up to 48 bytes that a rank reads (32 if calls are compared).
/// Orders    those of the medium: the release in `post` pairs with the acquire in `wait_posted`, and carries
///           the note; the release in `end`, or in a later post, pairs with the acquire of the rank that
///           writes the note's buffer again.
/// Memory    none but the slots.
struct notes {
  template <noting_medium M>
  static void broadcast(M& m, bytes_out data, rank_t root) {
    m.begin(data.size());
    if (m.rank() == root) {
      m.end();
      write(m, data);
    } else {
      m.wait_posted(root, 0);
      copy(data.data(), m.piece(root, 0), data.size());
      m.end();
    }
  }

  template <noting_medium M>
  static void all_reduce(M& m, bytes_in mine, bytes_out result, folding const& fold) {
    m.begin(mine.size());
    write(m, mine);
    fold_up_to(m, m.size() - 1, mine, result.data(), fold);
    m.end();
  }

  template <noting_medium M>
  static void reduce(M& m, bytes_in mine, bytes_out result, folding const& fold, rank_t root) {
    m.begin(mine.size());
    if (m.rank() == root) {
      fold_up_to(m, m.size() - 1, mine, result.data(), fold);
      m.end();
    } else {
      m.end();
      write(m, mine);
    }
  }

  template <noting_medium M>
  static void scan(M& m, bytes_in mine, bytes_out result, folding const& fold, bool is_exclusive) {
    rank_t const self = m.rank();
    m.begin(mine.size());
    if (self == 0) m.end();
    if (self + 1 != m.size()) write(m, mine);
    if (self != 0) {
      fold_up_to(m, is_exclusive ? self - 1 : self, mine, result.data(), fold);
      m.end();
    } else if (!is_exclusive) {
      copy(result.data(), mine.data(), mine.size());
    }
  }

  template <noting_medium M>
  static void gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes, bool /*are_equal*/,
                     rank_t root) {
    m.begin(mine.size());
    if (m.rank() == root) {
      take_blocks(m, mine, all, sizes);
      m.end();
    } else {
      m.end();
      write(m, mine);
    }
  }

  template <noting_medium M>
  static void all_gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes) {
    m.begin(mine.size());
    write(m, mine);
    take_blocks(m, mine, all, sizes);
    m.end();
  }

  template <noting_medium M>
  static void scatter(M& m, bytes_in all, block_sizes const& /*sizes*/, bytes_out mine, bool /*are_equal*/,
                      rank_t root) {
    m.begin(mine.size() * static_cast<std::size_t>(m.size()));
    auto const self = static_cast<std::size_t>(m.rank());
    if (m.rank() == root) {
      m.end();
      write_shares(m, all, mine.size(), root);
      copy(mine.data(), all.data() + self * mine.size(), mine.size());
    } else {
      m.wait_posted(root, 0);
      copy(mine.data(), m.piece(root, 0) + self * mine.size(), mine.size());
      m.end();
    }
  }

  template <noting_medium M>
  static void all_to_all(M& m, bytes_in from, block_sizes const& sizes, bytes_out into,
                         block_sizes const& /*in*/, bool /*are_equal*/) {
    std::size_t const each = sizes.size(0);
    std::size_t const own = each * static_cast<std::size_t>(m.rank());
    m.begin(from.size());
    write_shares(m, from, each, m.rank());
    copy(into.data() + own, from.data() + own, each);
    for_others(m, [&](rank_t r) {
      m.wait_posted(r, 0);
      copy(into.data() + each * static_cast<std::size_t>(r), m.piece(r, 0) + own, each);
    });
    m.end();
  }

  template <noting_medium M>
  static void reduce_scatter(M& m, bytes_in all, block_sizes const& /*sizes*/, bytes_out mine,
                             folding const& fold) {
    std::size_t const own = mine.size() * static_cast<std::size_t>(m.rank());
    m.begin(all.size());
    write_shares(m, all, mine.size(), m.rank());
    fold_up_to(m, m.size() - 1, all.subspan(own, mine.size()), mine.data(), fold, own);
    m.end();
  }

 private:
  /// Copies bytes, also onto themselves. One word is by far the most frequent note.
  static void copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes == sizeof(word)) {
      std::memcpy(to, from, sizeof(word));
    } else {
      std::memmove(to, from, bytes);
    }
  }

  /// Posts this rank's note.
  template <class M>
  static void write(M& m, bytes_in note) {
    if (!m.is_free(0)) m.wait_free(0);
    copy(m.own(0), note.data(), note.size());
    m.post(0);
  }
  /// Posts a note with a share of this many bytes for each rank but `except`, in rank order.
  template <class M>
  static void write_shares(M& m, bytes_in all, std::size_t share, rank_t except) {
    if (!m.is_free(0)) m.wait_free(0);
    std::byte* const note = m.own(0);
    for (rank_t r = 0; r < m.size(); ++r) {
      std::size_t const at = share * static_cast<std::size_t>(r);
      if (r != except) copy(note + at, all.data() + at, share);
    }
    m.post(0);
  }

  /// Calls f(r) for all other ranks: first for the next one, so that not all ranks read one note at once.
  template <class M, class F>
  static void for_others(M& m, F const& f) {
    for (rank_t r = m.rank() + 1; r < m.size(); ++r) f(r);
    for (rank_t r = 0; r < m.rank(); ++r) f(r);
  }

  template <class M>
  static void take_blocks(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes) {
    copy(all.data() + sizes.first(m.rank()), mine.data(), mine.size());
    for_others(m, [&](rank_t r) {
      m.wait_posted(r, 0);
      copy(all.data() + sizes.first(r), m.piece(r, 0), mine.size());
    });
  }

  /// Writes the fold of the elements of ranks 0 to `last`, those at byte `at` of the notes. The result may lie
  /// in the place of this rank's elements: it is written after all elements have been read.
  template <class M>
  static void fold_up_to(M& m, rank_t last, bytes_in mine, std::byte* result, folding const& fold,
                         std::size_t at = 0) {
    alignas(16) std::array<std::byte, M::short_bytes> between;
    std::byte const* left = nullptr;
    for (rank_t r = 0; r <= last; ++r) {
      if (r != m.rank()) m.wait_posted(r, 0);
      std::byte const* const right = r == m.rank() ? mine.data() : m.piece(r, 0) + at;
      if (r == 0) {
        left = right;
        continue;
      }
      std::byte* const into = r == last ? result : between.data();
      fold(into, left, right, mine.size());
      left = into;
    }
    if (last == 0) copy(result, left, mine.size());
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
