// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/board_pieces.hpp>
#include <pgas/detail/exchange/cut.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

/// A scan by way of the boards. A rank reads short elements of all ranks before it. Long ones make a chain,
/// in which each rank passes on the pieces that it has folded.
template <posting_medium M>
steps scan_on_boards(M& m, bytes_in mine, bytes_out result, folding fold, bool is_exclusive) {
  cut const pieces(mine.size(), fold.element_bytes(), M::buffer_bytes);
  m.begin(bytes_in_room(pieces.longest(), fold));
  rank_t const self = m.rank();
  bool const chains = mine.size() > few_bytes;
  bool const is_last = self + 1 == m.size();
  // The last rank posts what only it reads, if the result would replace it too early.
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
      // Own elements come last, and are on the board already, so the result may be in their place.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
