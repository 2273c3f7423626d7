// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Rings: each rank sends to the rank after it only.
///
/// Rounds    n - 1, and twice as many for all_reduce; a broadcast is a chain of pieces.
/// Bytes     each rank sends each block once: the least that gathers and long reductions can send.
/// Memory    that of the links; a copy of the elements for reduce_scatter.
/// Source    textbook; the second half of RCCE_comm's scatter-allgather (Shahmirzadi 2014, section 2.5.2).
/// Requires  that operations commute: each block is folded along the ring, beginning behind its owner. All
///           ranks get the same bits, in every run.
struct ring {
  static constexpr std::string_view name = "ring";
  static constexpr auto stands_on = collective_medium::links;
  static constexpr bool needs_commutative = true;

  template <linking_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    link const up{0, false};
    bool const is_last = (m.rank() + 1) % m.size() == root;
    for (std::size_t at = 0; at < data.size(); at += M::piece_bytes) {
      auto const piece = data.subspan(at, std::min(M::piece_bytes, data.size() - at));
      if (m.rank() != root) co_await m.receive(up, piece);
      if (!is_last) co_await m.send(up, piece);
    }
  }

  template <linking_medium M>
  static detail::steps all_gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes) {
    detail::copy_bytes(sizes.of(all, m.rank()).data(), mine.data(), mine.size());
    co_await detail::pass_round(m, all, sizes, 0);
  }

  template <linking_medium M>
  static detail::steps reduce_scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                                      detail::folding fold) {
    if (m.size() == 1) {
      detail::copy_bytes(mine.data(), all.data(), mine.size());
      co_return;
    }
    std::vector<std::byte> folded(all.begin(), all.end());
    co_await detail::fold_round(m, folded, sizes, fold);
    // Rank r has block r + 1, so each block goes on by one rank.
    link const up{0, false};
    co_await m.exchange(up, sizes.of(bytes_out(folded), (m.rank() + 1) % m.size()), up, mine);
  }

  template <linking_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    detail::copy_bytes(result.data(), mine.data(), mine.size());
    detail::block_sizes const sizes = detail::shares(result.size(), fold.element_bytes(), m.size());
    co_await detail::fold_round(m, result, sizes, fold);
    co_await detail::pass_round(m, result, sizes, 1);
  }
};

}  // namespace PGAS_NAMESPACE::collectives
