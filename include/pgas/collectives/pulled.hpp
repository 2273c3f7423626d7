// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/collective.hpp>
#include <pgas/platform/exchange/binomial.hpp>
#include <pgas/platform/exchange/cut.hpp>
#include <pgas/support/copy_bytes.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <string_view>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::collectives {

/// All ranks lay out blocks in their own memory, meet, and fetch what is meant for them: one-sided gets.
///
/// Rounds    a meeting of ceil(log2 n) rounds for each piece. Where not all ranks know the sizes of blocks,
/// one
///           more agrees on the number of pieces.
/// Bytes     each block is written once and fetched once, by its receiver.
/// Memory    two buffers a rank.
/// Source    collectives made of one-sided accesses: Shahmirzadi 2014, sections 2.4 and 2.6.
struct pulled {
  static constexpr std::string_view name = "pulled";
  static constexpr auto stands_on = collective_medium::shelves;

  template <pulling_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    std::size_t rounds = detail::cut::pieces_of(mine.size(), M::buffer_bytes);
    if (!are_equal) co_await m.agree_on_largest(rounds);
    for (std::size_t i = 0; i < rounds; ++i) {
      if (m.rank() != root) m.lay(0, piece(mine, i, M::buffer_bytes));
      co_await m.meet();
      for (rank_t r = 0; r < m.size() && m.rank() == root; ++r) {
        if (r != root) m.fetch(r, 0, piece(sizes.of(all, r), i, M::buffer_bytes));
      }
      m.settle();
    }
    if (m.rank() == root) detail::copy_bytes(sizes.of(all, root).data(), mine.data(), mine.size());
  }

  template <pulling_medium M>
  static detail::steps all_gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes) {
    detail::copy_bytes(sizes.of(all, m.rank()).data(), mine.data(), mine.size());
    std::size_t longest = 0;
    for (rank_t r = 0; r < m.size(); ++r) longest = std::max(longest, sizes.size(r));
    for (std::size_t i = 0; i < detail::cut::pieces_of(longest, M::buffer_bytes); ++i) {
      m.lay(0, piece(mine, i, M::buffer_bytes));
      co_await m.meet();
      for (rank_t d = 1; d < m.size(); ++d) {
        rank_t const r = (m.rank() + d) % m.size();
        m.fetch(r, 0, piece(sizes.of(all, r), i, M::buffer_bytes));
      }
      m.settle();
    }
  }

  template <pulling_medium M>
  static detail::steps scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                               bool are_equal, rank_t root) {
    std::size_t const share = share_of(m, 1);
    std::size_t rounds = detail::cut::pieces_of(mine.size(), share);
    if (!are_equal) co_await m.agree_on_largest(rounds);
    for (std::size_t i = 0; i < rounds; ++i) {
      for (rank_t r = 0; r < m.size() && m.rank() == root; ++r) {
        if (r != root) m.lay(static_cast<std::size_t>(r) * share, piece(sizes.of(all, r), i, share));
      }
      co_await m.meet();
      if (m.rank() != root) m.fetch(root, static_cast<std::size_t>(m.rank()) * share, piece(mine, i, share));
      m.settle();
    }
    if (m.rank() == root) detail::copy_bytes(mine.data(), sizes.of(all, root).data(), mine.size());
  }

  template <pulling_medium M>
  static detail::steps all_to_all(M& m, bytes_in from, detail::block_sizes const& out, bytes_out into,
                                  detail::block_sizes const& in, bool are_equal) {
    std::size_t const share = share_of(m, 1);
    std::size_t rounds = 0;
    for (rank_t r = 0; r < m.size(); ++r)
      rounds = std::max(rounds, detail::cut::pieces_of(out.size(r), share));
    if (!are_equal) co_await m.agree_on_largest(rounds);
    auto const own = out.of(from, m.rank());
    detail::copy_bytes(in.of(into, m.rank()).data(), own.data(), own.size());
    for (std::size_t i = 0; i < rounds; ++i) {
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != m.rank()) m.lay(static_cast<std::size_t>(r) * share, piece(out.of(from, r), i, share));
      }
      co_await m.meet();
      for (rank_t d = 1; d < m.size(); ++d) {
        rank_t const r = (m.rank() + d) % m.size();
        m.fetch(r, static_cast<std::size_t>(m.rank()) * share, piece(in.of(into, r), i, share));
      }
      m.settle();
    }
  }

  template <pulling_medium M>
  static detail::steps reduce_scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                                      detail::folding fold) {
    std::size_t const share = share_of(m, fold.element_bytes());
    std::size_t longest = 0;
    for (rank_t r = 0; r < m.size(); ++r) longest = std::max(longest, sizes.size(r));
    std::vector<std::byte> came(share * static_cast<std::size_t>(m.size()));
    for (std::size_t i = 0; i < detail::cut::pieces_of(longest, share); ++i) {
      for (rank_t r = 0; r < m.size(); ++r)
        m.lay(static_cast<std::size_t>(r) * share, piece(sizes.of(all, r), i, share));
      co_await m.meet();
      auto const kept = piece(mine, i, share);
      auto const place = [&](rank_t r) { return came.data() + share * static_cast<std::size_t>(r); };
      for (rank_t r = 0; r < m.size(); ++r)
        m.fetch(r, static_cast<std::size_t>(m.rank()) * share, bytes_out(place(r), kept.size()));
      m.settle();
      detail::copy_bytes(kept.data(), place(0), kept.size());
      for (rank_t r = 1; r < m.size(); ++r) fold(kept.data(), kept.data(), place(r), kept.size());
    }
  }

 private:
  /// The part of piece i of a block; none if the block has no such piece.
  template <class Byte>
  static std::span<Byte> piece(std::span<Byte> block, std::size_t i, std::size_t most) noexcept {
    std::size_t const first = std::min(i * most, block.size());
    return block.subspan(first, std::min(most, block.size() - first));
  }
  /// The bytes of a buffer for each rank.
  template <class M>
  static std::size_t share_of(M const& m, std::size_t unit) noexcept {
    return M::buffer_bytes / static_cast<std::size_t>(m.size()) / unit * unit;
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::collectives
