// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// All ranks write blocks to their own memory, synchronize, and fetch what is meant for them: one-sided gets.
///
/// Rounds    a barrier of ceil(log2 n) rounds for each piece. Where not all ranks know the sizes of blocks,
///           one more agrees on the number of pieces. Pieces have at least 64 bytes, so more than 256 ranks
///           need several barriers.
/// Bytes     each block is written once and fetched once, by its receiver.
/// Memory    two buffers a rank.
/// Source    collectives made of one-sided accesses: Shahmirzadi 2014, sections 2.4 and 2.6.
struct pulled {
  static constexpr std::string_view name = "pulled";
  static constexpr auto stands_on = collective_medium::pull_areas;

  template <pulling_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    bool const takes = m.rank() == root;
    lengths told(m, M::buffer_bytes, are_equal);
    std::size_t const most = M::buffer_bytes - told.head();
    std::size_t rounds = detail::cut::pieces_of(mine.size(), most);
    if (!are_equal) co_await m.agree_on_largest(rounds);
    rounds = detail::compared_pieces(rounds, are_equal);
    for (std::size_t i = 0; i < rounds; ++i) {
      if (!takes) m.lay(told.head(), piece(mine, i, most));
      if (!takes && i == 0) told.lay(m, root, 0, mine.size());
      co_await m.meet();
      for (rank_t r = 0; r < m.size() && takes; ++r) {
        if (r == root) continue;
        m.fetch(r, told.head(), piece(sizes.of(all, r), i, most));
        if (i == 0) told.fetch(m, r, 0);
      }
      m.settle();
      for (rank_t r = 0; r < m.size() && takes && i == 0; ++r) {
        if (r != root) told.compare(m, r, sizes.size(r));
      }
    }
    if (takes) detail::copy_bytes(sizes.of(all, root).data(), mine.data(), mine.size());
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
    bool const gives = m.rank() == root;
    shares const in(m);
    lengths told(m, in.bytes, are_equal);
    std::size_t const most = in.bytes - told.head();
    std::size_t rounds = detail::cut::pieces_of(mine.size(), most);
    if (!are_equal) co_await m.agree_on_largest(rounds);
    rounds = detail::compared_pieces(rounds, are_equal);
    for (std::size_t i = 0; i < rounds; ++i) {
      for (rank_t first = 0; first < m.size(); first += in.at_once) {
        for (rank_t r = first; gives && r < std::min(first + in.at_once, m.size()); ++r) {
          if (r == root) continue;
          m.lay(in.at(r - first) + told.head(), piece(sizes.of(all, r), i, most));
          if (i == 0) told.lay(m, r, in.at(r - first), sizes.size(r));
        }
        co_await m.meet();
        bool const takes = !gives && first <= m.rank() && m.rank() < first + in.at_once;
        if (takes) m.fetch(root, in.at(m.rank() - first) + told.head(), piece(mine, i, most));
        if (takes && i == 0) told.fetch(m, root, in.at(m.rank() - first));
        m.settle();
        if (takes && i == 0) told.compare(m, root, mine.size());
      }
    }
    if (gives) detail::copy_bytes(mine.data(), sizes.of(all, root).data(), mine.size());
  }

  template <pulling_medium M>
  static detail::steps all_to_all(M& m, bytes_in from, detail::block_sizes const& out, bytes_out into,
                                  detail::block_sizes const& in, bool are_equal) {
    shares const on(m);
    lengths told(m, on.bytes, are_equal);
    std::size_t const most = on.bytes - told.head();
    std::size_t rounds = 0;
    for (rank_t r = 0; r < m.size(); ++r)
      rounds = std::max(rounds, detail::cut::pieces_of(out.size(r), most));
    if (!are_equal) co_await m.agree_on_largest(rounds);
    rounds = detail::compared_pieces(rounds, are_equal);
    auto const own = out.of(from, m.rank());
    detail::copy_bytes(in.of(into, m.rank()).data(), own.data(), own.size());
    for (std::size_t i = 0; i < rounds; ++i) {
      // The share for the rank at distance d lies at the same place in each pull area.
      for (rank_t first = 1; first < m.size(); first += on.at_once) {
        rank_t const end = std::min(first + on.at_once, m.size());
        for (rank_t d = first; d < end; ++d) {
          rank_t const to = (m.rank() + d) % m.size();
          m.lay(on.at(d - first) + told.head(), piece(out.of(from, to), i, most));
          if (i == 0) told.lay(m, to, on.at(d - first), out.size(to));
        }
        co_await m.meet();
        for (rank_t d = first; d < end; ++d) {
          rank_t const r = (m.rank() - d + m.size()) % m.size();
          m.fetch(r, on.at(d - first) + told.head(), piece(in.of(into, r), i, most));
          if (i == 0) told.fetch(m, r, on.at(d - first));
        }
        m.settle();
        for (rank_t d = first; d < end && i == 0; ++d) {
          rank_t const r = (m.rank() - d + m.size()) % m.size();
          told.compare(m, r, in.size(r));
        }
      }
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
  /// Shares of a buffer: one for each rank, or long ones for some ranks at a time.
  struct shares {
    template <class M>
    explicit shares(M const& m) noexcept
        : bytes(std::max(M::buffer_bytes / static_cast<std::size_t>(m.size()), least)),
          at_once(static_cast<rank_t>(M::buffer_bytes / bytes)) {}
    [[nodiscard]] std::size_t at(rank_t i) const noexcept { return static_cast<std::size_t>(i) * bytes; }

    static constexpr std::size_t least = 64;
    std::size_t bytes;
    rank_t at_once;
  };

  /// The lengths of blocks that not all ranks know, in the heads of their shares.
  class lengths {
   public:
    template <class M>
    lengths(M const& m, std::size_t share, bool are_equal)
        : head_(detail::head_bytes(share, are_equal)),
          mine_(head_ == 0 ? 0 : static_cast<std::size_t>(m.size())),
          theirs_(mine_.size()) {}
    [[nodiscard]] std::size_t head() const noexcept { return head_; }

    template <class M>
    void lay(M& m, rank_t to, std::size_t at, std::size_t length) {
      if (head_ == 0) return;
      auto& word = mine_[static_cast<std::size_t>(to)];
      word = length;
      m.lay(at, std::as_bytes(std::span(&word, 1)));
    }
    template <class M>
    void fetch(M& m, rank_t from, std::size_t at) {
      if (head_ == 0) return;
      m.fetch(from, at, std::as_writable_bytes(std::span(&theirs_[static_cast<std::size_t>(from)], 1)));
    }
    /// Throws if the fetched length differs.
    template <class M>
    void compare(M const& m, rank_t from, std::size_t length) const {
      if (head_ != 0) m.compare_blocks(from, theirs_[static_cast<std::size_t>(from)], length);
    }

   private:
    std::size_t head_;
    std::vector<std::size_t> mine_;
    std::vector<std::size_t> theirs_;
  };

  /// The bytes of a buffer for each rank.
  template <class M>
  static std::size_t share_of(M const& m, std::size_t unit) noexcept {
    return M::buffer_bytes / static_cast<std::size_t>(m.size()) / unit * unit;
  }
};

}  // namespace PGAS_NAMESPACE::collectives
