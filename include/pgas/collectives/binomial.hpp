// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Binomial trees: data double their ranks, or halve them, in each round.
///
/// Rounds    ceil(log2 n) for broadcast, gather and scatter; the same up and, where the root is not rank 0,
///           as many again for reduce; twice as many for all_reduce.
/// Bytes     the root of a broadcast sends the data ceil(log2 n) times; a gather or scatter sends the last
///           ranks' blocks as often. The root of blocks of different sizes tells all ranks the sizes.
/// Memory    that of the links; a copy of the elements on ranks that fold, and of the blocks of a subtree.
/// Source    textbook; as RCCE_comm's (Shahmirzadi 2014, section 2.5.2), but in pieces, so that a rank passes
///           a piece on before the next has come.
/// Differs   Trees of reductions have rank 0 as their root, so that elements are folded in rank order.
struct binomial {
  static constexpr std::string_view name = "binomial";
  static constexpr auto stands_on = collective_medium::links;

  template <linking_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    co_await detail::send_down(m, data, root);
  }

  template <linking_medium M>
  static detail::steps reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    std::vector<std::byte> own(mine.begin(), mine.end());
    co_await detail::fold_up(m, own, fold);
    co_await detail::carry_up(m, own, root);
    if (m.rank() == root) detail::copy_bytes(result.data(), own.data(), own.size());
  }

  template <linking_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    detail::copy_bytes(result.data(), mine.data(), mine.size());
    co_await detail::fold_up(m, result, fold);
    co_await detail::send_down(m, result, 0);
  }

  template <linking_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    detail::block_sizes known = sizes;
    if (!are_equal) co_await tell_sizes(m, known, mine.size(), root);
    co_await detail::gather_up(m, mine, all, known, root);
  }

  template <linking_medium M>
  static detail::steps scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                               bool are_equal, rank_t root) {
    detail::block_sizes known = sizes;
    if (!are_equal) co_await tell_sizes(m, known, mine.size(), root);
    co_await detail::scatter_down(m, all, known, mine, root);
  }

 private:
  template <class M>
  static detail::steps tell_sizes(M& m, detail::block_sizes& sizes, std::size_t mine, rank_t root) {
    std::vector<std::size_t> each(static_cast<std::size_t>(m.size()));
    for (rank_t r = 0; r < m.size() && m.rank() == root; ++r)
      each[static_cast<std::size_t>(r)] = sizes.size(r);
    co_await detail::send_down(m, std::as_writable_bytes(std::span(each)), root);
    sizes = detail::block_sizes(each, 1);
    m.compare_blocks(root, sizes.size(m.rank()), mine);
  }
};

}  // namespace PGAS_NAMESPACE::collectives
