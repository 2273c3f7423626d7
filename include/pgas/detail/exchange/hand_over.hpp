// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/cut.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Gives rank `to` the bytes of rank `from` by way of that rank's board. All ranks name their number.
template <posting_medium M>
steps hand_over(M& m, bytes_in data, bytes_out into, std::size_t bytes, rank_t from, rank_t to) {
  m.begin(bytes);
  if (m.rank() != to) m.end();
  if constexpr (reaching_medium<M>) {
    if (is_offered<M>(bytes)) {
      if (m.rank() == from) co_await send_whole(m, data, to);
      if (m.rank() == to) co_await receive_whole(m, from, into);
      if (m.rank() == to) m.end();
      co_return;
    }
  }
  cut const pieces(bytes, 1, M::buffer_bytes);
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    if (m.rank() == from) {
      if (!m.is_free(i)) co_await m.until_free(i);
      auto const piece = pieces.of(data, i);
      copy_bytes(m.own(i), piece.data(), piece.size());
      m.post(i);
    } else if (m.rank() == to) {
      co_await m.posted(from, i);
      auto const piece = pieces.of(into, i);
      copy_bytes(piece.data(), m.piece(from, i), piece.size());
      if (pieces.count() > M::buffers) m.done_to(i);
    }
  }
  if (m.rank() == to) m.end();
}

/// The same along one link for each bit of the distance. Ranks on the way keep a copy meanwhile.
template <linking_medium M>
steps hand_over(M& m, bytes_in data, bytes_out into, std::size_t bytes, rank_t from, rank_t to) {
  auto const ranks = static_cast<unsigned>(m.size());
  auto const place = [&](rank_t r) { return static_cast<unsigned>(r - from + m.size()) % ranks; };
  unsigned const self = place(m.rank());
  std::vector<std::byte> passing;
  bytes_in here = data;
  unsigned at = 0;
  for (unsigned k = 0; at != place(to); ++k) {
    if ((place(to) >> k & 1U) == 0) continue;
    link const up{k, false};
    if (self == at) co_await m.send(up, here);
    at += 1U << k;
    if (self != at) continue;
    if (at != place(to)) passing.resize(bytes);
    bytes_out const room = at == place(to) ? into : bytes_out(passing);
    co_await m.receive(up, room);
    here = room;
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
