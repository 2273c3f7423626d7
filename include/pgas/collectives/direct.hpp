// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/eager.hpp>
#include <pgas/detail/exchange/folds.hpp>
#include <pgas/detail/exchange/shared_pieces.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::collectives {

/// Collectives on shared memory: each rank posts its data in its shared area, and the other ranks read it
/// there. Long data are copied once, straight between the ranks' memory, where the medium reaches it.
///
/// Rounds    one for broadcasts, gathers, scatters, all_to_all, and short reductions; two for long
///           reductions; n for long scans, which are chains of pieces.
/// Bytes     in shared areas each rank writes its data once and reads what it needs once. A long reduction is
///           split by range: each rank folds one range of each piece, in rank order, and posts the result.
/// Offers    a sender of `offered_bytes` or more names its memory in its first post, or says that pieces
///           follow in its shared area. Each rank decides that by its own memory alone. A rank returns when
///           all ranks that read its memory have done so. Between two processes both ranks copy: the sender
///           writes half of the data into the receiver's memory, which the receiver has offered.
/// Memory    that of the shared areas; 256 KiB while it folds straight from memory.
/// Source    single copies by the readers: Shahmirzadi 2014, section 2.4, here on memory that the hardware
///           keeps coherent, where readers share the lines of one source. Copies by the kernel: KNEM, Goglin
///           and Moreaud 2013; here both sides copy.
struct direct {
  static constexpr std::string_view name = "direct";
  static constexpr auto stands_on = collective_medium::shared_areas;
  using eager_form = detail::eager_exchange;  ///< for short calls

  /// Every rank's data become the root's. One-sided for the root, if its buffers are free and it
  /// offers no memory.
  template <posting_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    if constexpr (reaching_medium<M>) {
      if (data.size() >= detail::offered_bytes) return broadcast_from_memory(m, data, root);
    }
    return broadcast_from_area(m, data, root);
  }

  /// Every rank gets op over all ranks' elements, folded in rank order.
  template <posting_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    return reduce_to(m, mine, result, fold, detail::every_rank);
  }
  /// The root gets op over all ranks' elements, folded in rank order.
  template <posting_medium M>
  static detail::steps reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    return reduce_to(m, mine, result, fold, root);
  }

  /// Rank r gets op over the elements of ranks 0 to r, or to r - 1 if the scan is exclusive. The result of an
  /// exclusive scan on rank 0 stays as it is.
  template <posting_medium M>
  static detail::steps scan(M& m, bytes_in mine, bytes_out result, detail::folding fold, bool is_exclusive) {
    if constexpr (reaching_medium<M>) {
      if (is_exclusive && m.size() == 2 && mine.size() >= detail::offered_bytes)
        return detail::pass_on(m, mine, result);
    }
    return detail::scan_on_areas(m, mine, result, fold, is_exclusive);
  }

  /// The root gets all ranks' blocks, in rank order.
  template <posting_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    m.begin(are_equal ? mine.size() : detail::unknown_bytes);
    if (m.rank() != root) {
      if (!are_equal) m.announce(mine.size());
      m.end();
      if constexpr (reaching_medium<M>) {
        if (mine.size() >= detail::offered_bytes) co_await detail::send_whole(m, mine, root);
      }
      if (detail::is_offered<M>(mine.size())) co_return;
      detail::cut const pieces(mine.size(), 1, M::buffer_bytes);
      for (std::size_t i = 0; i < detail::compared_pieces(pieces.count(), are_equal); ++i) {
        if (!m.is_free(i)) co_await m.until_free(i);
        auto const piece = pieces.of(mine, i);
        detail::copy_bytes(m.own(i), piece.data(), piece.size());
        m.post(i);
      }
    } else {
      co_await take_blocks(m, all, sizes, are_equal);
      detail::copy_bytes(sizes.of(all, root).data(), mine.data(), mine.size());
      m.end();
    }
  }

  /// Every rank gets all ranks' blocks, in rank order.
  template <posting_medium M>
  static detail::steps all_gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes) {
    std::size_t longest = 0;
    for (rank_t r = 0; r < m.size(); ++r) longest = std::max(longest, sizes.size(r));
    m.begin(longest);
    detail::cut const own(mine.size(), 1, M::buffer_bytes);
    std::size_t const rounds = detail::cut(longest, 1, M::buffer_bytes).count();
    bool const offers = detail::is_offered<M>(longest);
    detail::copy_bytes(sizes.of(all, m.rank()).data(), mine.data(), mine.size());
    memory_place const place = offers ? detail::place_for_copies(m, mine) : memory_place{};
    for (std::size_t i = 0; i <= rounds; ++i) {
      if (i < own.count() && (i == 0 || !place.is_there())) {
        if (!m.is_free(i)) co_await m.until_free(i);
        auto const piece = own.of(mine, i);
        if (!place.is_there()) detail::copy_bytes(m.own(i), piece.data(), piece.size());
        detail::post_or_offer(m, i, offers, place);
      }
      if (i == 0) continue;
      // Each rank begins with the rank after it, so that not all of them read one shared area at once.
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (m.rank() + distance) % m.size();
        detail::cut const pieces(sizes.size(r), 1, M::buffer_bytes);
        if (i - 1 >= pieces.count() || (i > 1 && detail::offered_by(m, r, offers).is_there())) continue;
        co_await m.posted(r, i - 1);
        if (memory_place const there = detail::offered_by(m, r, offers); there.is_there()) {
          detail::fetch_from(m, r, there, 0, sizes.of(all, r));
        } else {
          auto const out = pieces.of(sizes.of(all, r), i - 1);
          detail::copy_bytes(out.data(), m.piece(r, i - 1), out.size());
        }
      }
      if (rounds > M::buffers) m.done_to(i - 1);
    }
    m.end();
    if (place.is_there()) co_await detail::read_by_all(m);
  }

  /// Each rank gets its block of the root's memory.
  template <posting_medium M>
  static detail::steps scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                               bool are_equal, rank_t root) {
    std::size_t const ranks = static_cast<std::size_t>(m.size());
    std::size_t const total = are_equal ? mine.size() * ranks : detail::unknown_bytes;
    m.begin(total);
    std::size_t const share = detail::share_of(m, are_equal ? mine.size() : detail::unknown_bytes, 1);
    std::size_t const head = detail::head_bytes(share, are_equal);
    bool const offers = are_equal && detail::is_offered<M>(mine.size());
    if (m.rank() == root) {
      m.end();
      detail::copy_bytes(mine.data(), sizes.of(all, root).data(), mine.size());
      if constexpr (reaching_medium<M>) {
        if (offers && m.size() == 2) {
          co_await detail::send_whole(m, sizes.of(all, 1 - root), 1 - root);
          co_return;
        }
      }
      memory_place const place = offers ? detail::place_for_copies(m, all) : memory_place{};
      std::size_t rounds = 0;
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != root) rounds = std::max(rounds, pieces_behind_heads(sizes.size(r), share, head));
      }
      if (place.is_there()) rounds = std::min(rounds, std::size_t{1});
      for (std::size_t i = 0; i < rounds; ++i) {
        if (!m.is_free(i)) co_await m.until_free(i);
        if (!place.is_there()) detail::lay_out_shares(m, m.own(i), all, sizes, share, i, root, head);
        detail::post_or_offer(m, i, offers, place);
      }
      if (place.is_there() && rounds != 0) co_await detail::read_by_all(m);
    } else {
      if constexpr (reaching_medium<M>) {
        if (offers && m.size() == 2) {
          co_await detail::receive_whole(m, root, mine);
          m.end();
          co_return;
        }
      }
      std::size_t const rounds = pieces_behind_heads(mine.size(), share, head);
      std::size_t const most = share - head;
      auto const self = static_cast<std::size_t>(m.rank());
      for (std::size_t i = 0; i < rounds; ++i) {
        co_await m.posted(root, i);
        if (memory_place const there = detail::offered_by(m, root, offers); there.is_there()) {
          detail::fetch_from(m, root, there, self * mine.size(), mine);
          break;
        }
        std::byte const* const own = m.piece(root, i) + share * self;
        if (head != 0 && i == 0) m.compare_blocks(root, detail::read_head(own), mine.size());
        detail::copy_bytes(mine.data() + i * most, own + head, std::min(most, mine.size() - i * most));
        if (rounds > M::buffers) m.done_to(i);
      }
      m.end();
    }
  }

  /// Each rank gets the block that each rank has for it.
  template <posting_medium M>
  static detail::steps all_to_all(M& m, bytes_in from, detail::block_sizes const& out, bytes_out into,
                                  detail::block_sizes const& in, bool are_equal) {
    std::size_t const each = are_equal ? out.size(0) : detail::unknown_bytes;
    m.begin(are_equal ? each * static_cast<std::size_t>(m.size()) : detail::unknown_bytes);
    std::size_t const share = detail::share_of(m, each, 1);
    std::size_t const head = detail::head_bytes(share, are_equal);
    std::size_t const most = share - head;
    rank_t const self = m.rank();
    std::size_t mine = 0;
    std::size_t theirs = 0;
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r == self) continue;
      mine = std::max(mine, pieces_behind_heads(out.size(r), share, head));
      theirs = std::max(theirs, pieces_behind_heads(in.size(r), share, head));
    }
    auto const own = out.of(from, self);
    detail::copy_bytes(in.of(into, self).data(), own.data(), own.size());
    bool const offers = are_equal && detail::is_offered<M>(each);
    // Arriving blocks would replace blocks that other ranks have not fetched.
    bool const is_in_place = detail::do_overlap(from, into);
    memory_place const place = offers && !is_in_place ? detail::place_for_copies(m, from) : memory_place{};
    for (std::size_t i = 0; i <= std::max(mine, theirs); ++i) {
      if (i < mine && (i == 0 || !place.is_there())) {
        if (!m.is_free(i)) co_await m.until_free(i);
        if (!place.is_there()) detail::lay_out_shares(m, m.own(i), from, out, share, i, self, head);
        detail::post_or_offer(m, i, offers, place);
      }
      if (i == 0) continue;
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (self + distance) % m.size();
        auto const block = in.of(into, r);
        std::size_t const first = (i - 1) * most;
        bool const is_compared = head != 0 && i == 1;
        if ((first >= block.size() && !is_compared) || (i > 1 && detail::offered_by(m, r, offers).is_there()))
          continue;
        co_await m.posted(r, i - 1);
        if (memory_place const there = detail::offered_by(m, r, offers); there.is_there()) {
          // Blocks of this rank that others have not read yet are all in its shared area after the last
          // round.
          if (!is_in_place) detail::fetch_from(m, r, there, each * static_cast<std::size_t>(self), block);
        } else {
          std::byte const* const came = m.piece(r, i - 1) + share * static_cast<std::size_t>(self);
          if (is_compared) m.compare_blocks(r, detail::read_head(came), block.size());
          detail::copy_bytes(block.data() + first, came + head, std::min(most, block.size() - first));
        }
      }
      if (std::max(mine, theirs) > M::buffers) m.done_to(i - 1);
    }
    for (rank_t r = 0; is_in_place && r < m.size(); ++r) {
      if (r == self) continue;
      if (memory_place const there = detail::offered_by(m, r, offers); there.is_there())
        detail::fetch_from(m, r, there, each * static_cast<std::size_t>(self), in.of(into, r));
    }
    m.end();
    if (place.is_there()) co_await detail::read_by_all(m);
  }

  /// Each rank gets op over all ranks' elements in its block, folded in rank order.
  template <posting_medium M>
  static detail::steps reduce_scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                                      detail::folding fold) {
    if (m.size() == 1) return keep(m, all, mine);
    if constexpr (reaching_medium<M>) {
      if (detail::folds_from_memory(m, all.size(), fold))
        return detail::reduce_shares_from_memory(m, all, sizes, mine, fold);
    }
    return detail::reduce_shares(m, all, sizes, mine, fold);
  }

 private:
  template <class M>
  static detail::steps reduce_to(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    if (m.size() == 1) return keep(m, mine, result);
    if constexpr (reaching_medium<M>) {
      if (detail::folds_from_memory(m, mine.size(), fold))
        return detail::reduce_from_memory(m, mine, result, fold, root);
    }
    return detail::reduce_from_areas(m, mine, result, fold, root);
  }

  template <reaching_medium M>
  static detail::steps broadcast_from_memory(M& m, bytes_out data, rank_t root) {
    m.begin(data.size());
    if (m.rank() == root) {
      // This rank reads the other rank's offer only while that rank waits for its answer.
      m.end();
      co_await detail::send_whole(m, data, detail::every_rank);
    } else {
      co_await detail::receive_whole(m, root, data);
      m.end();
    }
  }

  template <posting_medium M>
  static detail::steps broadcast_from_area(M& m, bytes_out data, rank_t root) {
    detail::cut const pieces(data.size(), 1, M::buffer_bytes);
    m.begin(data.size());
    if (m.rank() == root) m.end();
    for (std::size_t i = 0; i < pieces.count(); ++i) {
      auto const piece = pieces.of(data, i);
      if (m.rank() == root) {
        if (!m.is_free(i)) co_await m.until_free(i);
        detail::copy_bytes(m.own(i), piece.data(), piece.size());
        m.post(i);
      } else {
        co_await m.posted(root, i);
        detail::copy_bytes(piece.data(), m.piece(root, i), piece.size());
        if (pieces.count() > M::buffers) m.done_to(i);
      }
    }
    if (m.rank() != root) m.end();
  }

  template <class M>
  static detail::steps take_blocks(M& m, bytes_out all, detail::block_sizes const& sizes, bool are_equal) {
    if constexpr (reaching_medium<M>) {
      rank_t const other = 1 - m.rank();
      if (m.size() == 2 && sizes.size(other) >= detail::offered_bytes) {
        co_await detail::receive_whole(m, other, sizes.of(all, other), 0, !are_equal);
        co_return;
      }
    }
    std::size_t rounds = 0;
    for (rank_t r = 0; r < m.size(); ++r)
      rounds = std::max(rounds, detail::cut(sizes.size(r), 1, M::buffer_bytes).count());
    rounds = detail::compared_pieces(rounds, are_equal);
    for (std::size_t i = 0; i < rounds; ++i) {
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (m.rank() + distance) % m.size();
        detail::cut const pieces(sizes.size(r), 1, M::buffer_bytes);
        bool const offers = detail::is_offered<M>(sizes.size(r));
        if (i >= detail::compared_pieces(pieces.count(), are_equal)) continue;
        if (i > 0 && detail::offered_by(m, r, offers).is_there()) continue;
        co_await m.posted(r, i);
        if (i == 0 && !are_equal) m.compare_announced(r, sizes.size(r));
        if (memory_place const there = detail::offered_by(m, r, offers); there.is_there()) {
          detail::fetch_from(m, r, there, 0, sizes.of(all, r));
          continue;
        }
        auto const out = pieces.of(sizes.of(all, r), i);
        detail::copy_bytes(out.data(), m.piece(r, i), out.size());
      }
      if (rounds > M::buffers) m.done_to(i);
    }
  }

  /// The number of pieces of a block whose shares have a head of this many bytes: at least one if there is a
  /// head.
  static std::size_t pieces_behind_heads(std::size_t block, std::size_t share, std::size_t head) noexcept {
    std::size_t const pieces = detail::cut::pieces_of(block, share - head);
    return head == 0 ? pieces : std::max(pieces, std::size_t{1});
  }

  /// If a rank is alone, its elements are the result.
  template <class M>
  static detail::steps keep(M& m, bytes_in mine, bytes_out result) {
    m.begin(0);
    detail::copy_bytes(result.data(), mine.data(), mine.size());
    m.end();
    co_return;
  }
};

}  // namespace PGAS_NAMESPACE::collectives
