// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::collectives {

/// A long broadcast as a scatter down a binomial tree, then a ring.
///
/// Rounds    ceil(log2 n) + n - 1.
/// Bytes     each rank sends about twice the data at most, however many ranks there are.
/// Memory    that of the links.
/// Source    van de Geijn's algorithm; RCCE_comm's for long messages (Shahmirzadi 2014, section 2.5.2).
struct scatter_allgather {
  static constexpr std::string_view name = "scatter_allgather";
  static constexpr auto stands_on = collective_medium::links;

  template <linking_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    auto const ranks = static_cast<unsigned>(m.size());
    auto const place = static_cast<unsigned>((m.rank() - root + m.size()) % m.size());
    // Shares are numbered by places, which count ranks from the root on.
    detail::block_sizes const sizes = detail::shares(data.size(), 1, m.size());
    auto const of_places = [&](unsigned first, unsigned end) {
      std::size_t const begin = sizes.first(static_cast<rank_t>(first));
      return data.subspan(begin, sizes.first(static_cast<rank_t>(std::min(end, ranks))) - begin);
    };
    unsigned lowest = 0;
    while (place != 0 ? (place >> lowest & 1U) == 0 : lowest < detail::doublings(m.size())) ++lowest;
    if (place != 0) co_await m.receive(link{lowest, false}, of_places(place, place + (1U << lowest)));
    for (unsigned k = lowest; k-- > 0;) {
      unsigned const child = place + (1U << k);
      if (child < ranks) co_await m.send(link{k, false}, of_places(child, child + (1U << k)));
    }
    link const up{0, false};
    for (unsigned round = 0; round + 1 < ranks; ++round) {
      unsigned const out = (place + ranks - round) % ranks;
      unsigned const in = (out + ranks - 1) % ranks;
      co_await m.exchange(up, of_places(out, out + 1), up, of_places(in, in + 1));
    }
  }
};

}  // namespace PGAS_NAMESPACE::collectives
