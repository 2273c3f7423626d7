// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The number of bits that count the ranks of a team: of rounds whose distance doubles.
constexpr unsigned doublings(rank_t ranks) noexcept {
  unsigned k = 0;
  while (std::size_t{1} << k < static_cast<std::size_t>(ranks)) ++k;
  return k;
}

/// Sends the root's bytes down a binomial tree. A rank passes each piece on before it takes the next.
template <linking_medium M>
steps send_down(M& m, bytes_out data, rank_t root) {
  auto const place = static_cast<unsigned>((m.rank() - root + m.size()) % m.size());
  auto const ranks = static_cast<unsigned>(m.size());
  // The parent of a place has its lowest bit cleared; its children have a lower bit set.
  unsigned lowest = 0;
  while (place != 0 ? (place >> lowest & 1U) == 0 : lowest < doublings(m.size())) ++lowest;
  for (std::size_t at = 0; at < data.size(); at += M::piece_bytes) {
    auto const piece = data.subspan(at, std::min(M::piece_bytes, data.size() - at));
    if (place != 0) co_await m.receive(link{lowest, false}, piece);
    for (unsigned k = lowest; k-- > 0;) {
      if (place + (1U << k) < ranks) co_await m.send(link{k, false}, piece);
    }
  }
}

/// Gives rank 0 op over all ranks' elements, folded in rank order, up a binomial tree. `all` holds this
/// rank's elements first, and what its subtree folds to at the end.
template <linking_medium M>
steps fold_up(M& m, bytes_out all, folding fold) {
  auto const place = static_cast<unsigned>(m.rank());
  for (unsigned k = 0; k < doublings(m.size()); ++k) {
    link const down{k, true};
    bool const sends = (place >> k & 1U) != 0;
    if (!sends && place + (1U << k) >= static_cast<unsigned>(m.size())) continue;
    auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
      fold(all.data() + first, all.data() + first, piece, bytes);
    };
    bytes_in const out = sends ? bytes_in(all) : bytes_in();
    co_await m.exchange_and_take(down, out, down, sends ? 0 : all.size(), fold.element_bytes(), take);
    if (sends) co_return;
  }
}

/// Carries bytes from rank 0 to rank `to`, along one link for each bit of its number.
template <linking_medium M>
steps carry_up(M& m, bytes_out data, rank_t to) {
  auto const self = static_cast<unsigned>(m.rank());
  unsigned at = 0;
  for (unsigned k = 0; k < doublings(m.size()); ++k) {
    if ((static_cast<unsigned>(to) >> k & 1U) == 0) continue;
    if (self == at) co_await m.send(link{k, false}, data);
    at += 1U << k;
    if (self == at) co_await m.receive(link{k, false}, data);
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
