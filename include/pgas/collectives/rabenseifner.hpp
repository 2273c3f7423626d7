// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Rabenseifner's all_reduce: ranges are halved while they are folded, then doubled while they are gathered.
///
/// Rounds    2 log2 n.
/// Bytes     each rank sends its elements about twice, however many ranks there are.
/// Memory    that of the links.
/// Source    Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005.
/// Differs   The first exchange is with the neighbour and not with the farthest rank, so elements are folded
///           in rank order, and operations need not commute. Where the number of ranks is no power of two, a
///           binomial tree is used instead.
struct rabenseifner {
  static constexpr std::string_view name = "rabenseifner";
  static constexpr auto stands_on = collective_medium::links;

  template <linking_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    detail::copy_bytes(result.data(), mine.data(), mine.size());
    auto const self = static_cast<unsigned>(m.rank());
    unsigned const rounds = detail::doublings(m.size());
    if (1U << rounds != static_cast<unsigned>(m.size())) {
      co_await detail::fold_up(m, result, fold);
      co_await detail::send_down(m, result, 0);
      co_return;
    }
    detail::block_sizes const sizes = detail::shares(result.size(), fold.element_bytes(), m.size());
    // This rank's range: shares [first, first + (n >> k)) after k rounds.
    unsigned first = 0;
    unsigned count = 1U << rounds;
    auto const shares = [&](unsigned from, unsigned how_many) {
      std::size_t const begin = sizes.first(static_cast<rank_t>(from));
      return result.subspan(begin, sizes.first(static_cast<rank_t>(from + how_many)) - begin);
    };
    for (unsigned k = 0; k < rounds; ++k) {
      bool const is_upper = (self >> k & 1U) != 0;
      count /= 2;
      auto const given = shares(is_upper ? first : first + count, count);
      if (is_upper) first += count;
      auto const kept = shares(first, count);
      auto const take = [&](std::size_t at, std::byte const* piece, std::size_t bytes) {
        std::byte* const own = kept.data() + at;
        fold(own, is_upper ? piece : own, is_upper ? own : piece, bytes);
      };
      co_await m.exchange_and_take(link{k, is_upper}, given, link{k, !is_upper}, kept.size(),
                                   fold.element_bytes(), take);
    }
    for (unsigned k = rounds; k-- > 0;) {
      bool const is_upper = (self >> k & 1U) != 0;
      unsigned const other = is_upper ? first - count : first + count;
      co_await m.exchange(link{k, is_upper}, shares(first, count), link{k, !is_upper}, shares(other, count));
      first = std::min(first, other);
      count *= 2;
    }
  }
};

}  // namespace PGAS_NAMESPACE::collectives
