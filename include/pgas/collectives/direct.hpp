// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <pgas/concepts/collective.hpp>
#include <pgas/platform/exchange/cut.hpp>
#include <pgas/platform/exchange/steps.hpp>
#include <pgas/support/streaming_copier.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::collectives {

/// Collectives on shared memory: each rank posts its data on its board, and the other ranks read there. Long
/// data are copied once, straight between the ranks' memory, where the medium reaches it.
///
/// Rounds    one for broadcasts, gathers, scatters, all_to_all, and short reductions; two for long
///           reductions; n for long scans, which are chains of pieces.
/// Bytes     on boards each rank writes its data once and reads what it needs once. A long reduction is split
///           by range: each rank folds one range of each piece, in rank order, and posts the result.
/// Offers    a sender of `offered_bytes` or more names its memory in its first post, or says that pieces
///           follow on its board. Each rank decides by its own memory alone. A rank returns when all ranks
///           that read its memory have done so. Between two processes both ranks copy: the sender writes a
///           half into the receiver's memory, which the receiver has offered, too.
/// Memory    that of the boards; 256 KiB while it folds straight from memory.
/// Source    single copies with the readers' processors at work: Shahmirzadi 2014, section 2.4, on memory
///           that the hardware keeps coherent, where all readers share the lines of one source. Copies by
///           the kernel: KNEM, Goglin and Moreaud 2013; ours is at work on both sides.
struct direct {
  static constexpr std::string_view name = "direct";
  static constexpr auto stands_on = collective_medium::boards;

  /// Every rank's data become the root's. One-sided for the root, if its buffers are free and it
  /// offers no memory.
  template <posting_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    if constexpr (reaching_medium<M>) {
      if (data.size() >= offered_bytes) return broadcast_from_memory(m, data, root);
    }
    return broadcast_from_board(m, data, root);
  }

  /// Every rank gets op over all ranks' elements, folded in rank order.
  template <posting_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    return reduce_to(m, mine, result, fold, everyone);
  }
  /// The root gets it.
  template <posting_medium M>
  static detail::steps reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    return reduce_to(m, mine, result, fold, root);
  }

  /// Rank r gets op over the elements of ranks 0 to r, or to r - 1 if the scan is exclusive. The result of an
  /// exclusive scan on rank 0 stays as it is.
  template <posting_medium M>
  static detail::steps scan(M& m, bytes_in mine, bytes_out result, detail::folding fold, bool is_exclusive) {
    detail::cut const pieces(mine.size(), fold.element_bytes(), M::buffer_bytes);
    m.begin(in_room(pieces.longest(), fold));
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
          copy(m.own(i), own.data(), own.size());
          m.post(i);
        }
      }
      if (self == 0) {
        if (!is_exclusive) copy(out.data(), own.data(), own.size());
      } else if (chains) {
        co_await m.posted(self - 1, i);
        std::byte const* const before = m.piece(self - 1, i);
        if (posts) {
          fold(m.own(i), before, own.data(), own.size());
          m.post(i);
        }
        if (is_exclusive) {
          copy(out.data(), before, out.size());
        } else if (posts) {
          copy(out.data(), m.own(i), out.size());
        } else {
          fold(out.data(), before, own.data(), own.size());
        }
      } else {
        // Own elements come last, and are on the board already, so the result may be in their place.
        rank_t const last = is_exclusive ? self - 1 : self;
        std::byte const* const kept = posts ? m.own(i) : own.data();
        if (last == 0) {
          co_await m.posted(0, i);
          copy(out.data(), m.piece(0, i), out.size());
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

  /// The root gets all ranks' blocks, in rank order.
  template <posting_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    m.begin(are_equal ? mine.size() : detail::unknown_bytes);
    if (m.rank() != root) {
      m.end();
      if constexpr (reaching_medium<M>) {
        if (mine.size() >= offered_bytes) co_await send(m, mine, root);
      }
      if (is_offered<M>(mine.size())) co_return;
      detail::cut const pieces(mine.size(), 1, M::buffer_bytes);
      for (std::size_t i = 0; i < pieces.count(); ++i) {
        if (!m.is_free(i)) co_await m.until_free(i);
        auto const piece = pieces.of(mine, i);
        copy(m.own(i), piece.data(), piece.size());
        m.post(i);
      }
    } else {
      co_await take_blocks(m, all, sizes);
      copy(sizes.of(all, root).data(), mine.data(), mine.size());
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
    bool const offers = is_offered<M>(longest);
    copy(sizes.of(all, m.rank()).data(), mine.data(), mine.size());
    memory_place const place = offers ? place_of(m, mine) : memory_place{};
    for (std::size_t i = 0; i <= rounds; ++i) {
      if (i < own.count() && (i == 0 || !place.is_there())) {
        if (!m.is_free(i)) co_await m.until_free(i);
        auto const piece = own.of(mine, i);
        if (!place.is_there()) write(m, m.own(i), piece, longest);
        post(m, i, offers, place);
      }
      if (i == 0) continue;
      // Each rank begins with the rank after it, so that not all of them read one board at once.
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (m.rank() + distance) % m.size();
        detail::cut const pieces(sizes.size(r), 1, M::buffer_bytes);
        if (i - 1 >= pieces.count() || (i > 1 && offered(m, r, offers).is_there())) continue;
        co_await m.posted(r, i - 1);
        if (memory_place const there = offered(m, r, offers); there.is_there()) {
          fetch(m, r, there, 0, sizes.of(all, r));
        } else {
          auto const out = pieces.of(sizes.of(all, r), i - 1);
          copy(out.data(), m.piece(r, i - 1), out.size());
        }
      }
      if (rounds > M::buffers) m.done_to(i - 1);
    }
    m.end();
    if (place.is_there()) co_await read_by_all(m);
  }

  /// Each rank gets its block of the root's memory.
  template <posting_medium M>
  static detail::steps scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                               bool are_equal, rank_t root) {
    std::size_t const ranks = static_cast<std::size_t>(m.size());
    std::size_t const total = are_equal ? mine.size() * ranks : detail::unknown_bytes;
    m.begin(total);
    std::size_t const share = share_of(m, are_equal ? mine.size() : detail::unknown_bytes, 1);
    bool const offers = are_equal && is_offered<M>(mine.size());
    if (m.rank() == root) {
      m.end();
      copy(mine.data(), sizes.of(all, root).data(), mine.size());
      if constexpr (reaching_medium<M>) {
        if (offers && m.size() == 2) {
          co_await send(m, sizes.of(all, 1 - root), 1 - root);
          co_return;
        }
      }
      memory_place const place = offers ? place_of(m, all) : memory_place{};
      std::size_t rounds = 0;
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != root) rounds = std::max(rounds, detail::cut::pieces_of(sizes.size(r), share));
      }
      if (place.is_there()) rounds = std::min(rounds, std::size_t{1});
      for (std::size_t i = 0; i < rounds; ++i) {
        if (!m.is_free(i)) co_await m.until_free(i);
        if (!place.is_there()) lay_out(m, m.own(i), all, sizes, share, i, root);
        post(m, i, offers, place);
      }
      if (place.is_there() && rounds != 0) co_await read_by_all(m);
    } else {
      if constexpr (reaching_medium<M>) {
        if (offers && m.size() == 2) {
          co_await receive(m, root, mine);
          m.end();
          co_return;
        }
      }
      std::size_t const rounds = detail::cut::pieces_of(mine.size(), share);
      auto const self = static_cast<std::size_t>(m.rank());
      for (std::size_t i = 0; i < rounds; ++i) {
        co_await m.posted(root, i);
        if (memory_place const there = offered(m, root, offers); there.is_there()) {
          fetch(m, root, there, self * mine.size(), mine);
          break;
        }
        std::size_t const count = std::min(share, mine.size() - i * share);
        copy(mine.data() + i * share, m.piece(root, i) + share * self, count);
        if (rounds > M::buffers) m.done_to(i);
      }
      m.end();
    }
  }

  /// Each rank gets from each rank the block that is meant for it.
  template <posting_medium M>
  static detail::steps all_to_all(M& m, bytes_in from, detail::block_sizes const& out, bytes_out into,
                                  detail::block_sizes const& in, bool are_equal) {
    std::size_t const each = are_equal ? out.size(0) : detail::unknown_bytes;
    m.begin(are_equal ? each * static_cast<std::size_t>(m.size()) : detail::unknown_bytes);
    std::size_t const share = share_of(m, each, 1);
    rank_t const self = m.rank();
    std::size_t mine = 0;
    std::size_t theirs = 0;
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r == self) continue;
      mine = std::max(mine, detail::cut::pieces_of(out.size(r), share));
      theirs = std::max(theirs, detail::cut::pieces_of(in.size(r), share));
    }
    auto const own = out.of(from, self);
    copy(in.of(into, self).data(), own.data(), own.size());
    bool const offers = are_equal && is_offered<M>(each);
    // Blocks that come would replace blocks that other ranks have not fetched.
    bool const is_in_place = overlap(from, into);
    memory_place const place = offers && !is_in_place ? place_of(m, from) : memory_place{};
    for (std::size_t i = 0; i <= std::max(mine, theirs); ++i) {
      if (i < mine && (i == 0 || !place.is_there())) {
        if (!m.is_free(i)) co_await m.until_free(i);
        if (!place.is_there()) lay_out(m, m.own(i), from, out, share, i, self);
        post(m, i, offers, place);
      }
      if (i == 0) continue;
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (self + distance) % m.size();
        auto const block = in.of(into, r);
        std::size_t const first = (i - 1) * share;
        if (first >= block.size() || (i > 1 && offered(m, r, offers).is_there())) continue;
        co_await m.posted(r, i - 1);
        if (memory_place const there = offered(m, r, offers); there.is_there()) {
          // Blocks of this rank that others have not read yet are all on its board after the last round.
          if (!is_in_place) fetch(m, r, there, each * static_cast<std::size_t>(self), block);
        } else {
          copy(block.data() + first, m.piece(r, i - 1) + share * static_cast<std::size_t>(self),
               std::min(share, block.size() - first));
        }
      }
      if (std::max(mine, theirs) > M::buffers) m.done_to(i - 1);
    }
    for (rank_t r = 0; is_in_place && r < m.size(); ++r) {
      if (r == self) continue;
      if (memory_place const there = offered(m, r, offers); there.is_there())
        fetch(m, r, there, each * static_cast<std::size_t>(self), in.of(into, r));
    }
    m.end();
    if (place.is_there()) co_await read_by_all(m);
  }

  /// Each rank gets op over all ranks' elements in its block, folded in rank order.
  template <posting_medium M>
  static detail::steps reduce_scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                                      detail::folding fold) {
    if (m.size() == 1) return keep(m, all, mine);
    if constexpr (reaching_medium<M>) {
      if (folds_from_memory(m, all.size(), fold)) return reduce_shares_from_memory(m, all, sizes, mine, fold);
    }
    return reduce_shares(m, all, sizes, mine, fold);
  }

 private:
  /// Messages from so many bytes on may be copied straight from and to the ranks' memory: the waits of their
  /// sender for the last reader cost less than a second copy.
  static constexpr std::size_t offered_bytes = 8192;
  /// System calls copy from so many bytes on.
  static constexpr std::size_t called_bytes = 32768;

  template <class M>
  static constexpr bool is_offered(std::size_t bytes) noexcept {
    return reaching_medium<M> && bytes >= offered_bytes;
  }
  /// The place of this rank's memory if straight copies are faster than those by way of the board. A call
  /// copies at half the speed of loads and stores or less, so it is for two ranks, of which both copy.
  template <class M>
  static memory_place place_of(M& m, bytes_in memory) noexcept {
    if constexpr (reaching_medium<M>) {
      memory_place const place = m.place_of(memory);
      bool const is_called = place.by == memory_place::reach::call;
      if (!is_called || (m.size() == 2 && memory.size() >= called_bytes)) return place;
    }
    return {};
  }
  /// Posts piece i, or offers the place in its stead. If ranks `offer`, piece 0 says of each rank whether it
  /// does.
  template <class M>
  static void post(M& m, std::size_t i, bool offer, memory_place place) {
    if constexpr (reaching_medium<M>) {
      if (offer && i == 0) return m.offer(0, place);
    }
    m.post(i);
  }
  template <class M>
  static memory_place offered(M& m, rank_t r, bool offer) {
    if constexpr (reaching_medium<M>) {
      if (offer) return m.offered(r, 0);
    }
    return {};
  }
  template <class M>
  static void fetch(M& m, rank_t r, memory_place place, std::size_t first, bytes_out into) {
    if constexpr (reaching_medium<M>) m.fetch(r, place, first, into);
  }
  /// Ends when all ranks have read what this rank has offered.
  template <class M>
  static detail::steps read_by_all(M& m) {
    if constexpr (reaching_medium<M>) {
      for (rank_t r = 0; r < m.size(); ++r) {
        if (r != m.rank()) co_await m.read_by(r, 0);
      }
    }
  }

  /// Of the bytes between two ranks that reach each other's memory, the receiver copies so many, whole lines,
  /// and the sender the others.
  static constexpr std::size_t share_of_receiver(std::size_t bytes) noexcept { return bytes / 2 / 64 * 64; }

  /// Sends bytes to one rank, or to `everyone`.
  template <reaching_medium M>
  static detail::steps send(M& m, bytes_in data, rank_t receiver) {
    if (!m.is_free(0)) co_await m.until_free(0);
    memory_place const place = place_of(m, data);
    if (!place.is_there()) {
      detail::cut const pieces(data.size(), 1, M::buffer_bytes);
      for (std::size_t i = 0; i < pieces.count(); ++i) {
        if (i != 0 && !m.is_free(i)) co_await m.until_free(i);
        auto const piece = pieces.of(data, i);
        write(m, m.own(i), piece, data.size());
        post(m, i, true, {});
      }
      co_return;
    }
    m.offer(0, place);
    if (m.size() == 2) {
      rank_t const other = 1 - m.rank();
      co_await m.posted(other, 0);
      if (memory_place const into = m.offered(other, 0); into.is_there()) {
        std::size_t const half = share_of_receiver(data.size());
        m.deliver(other, into, half, data.subspan(half));
        if (!m.is_free(1)) co_await m.until_free(1);
        m.post(1);
      }
    }
    if (receiver == everyone) {
      co_await read_by_all(m);
    } else {
      co_await m.read_by(receiver, 0);
    }
  }
  /// Receives them. The bytes begin at byte `first` of what the sender offers to more than one rank.
  template <reaching_medium M>
  static detail::steps receive(M& m, rank_t sender, bytes_out data, std::size_t first = 0) {
    memory_place const own = m.size() == 2 ? place_of(m, data) : memory_place{};
    if (m.size() == 2) {
      if (!m.is_free(0)) co_await m.until_free(0);
      m.offer(0, own);
    }
    co_await m.posted(sender, 0);
    if (memory_place const place = m.offered(sender, 0); place.is_there()) {
      m.fetch(sender, place, first, own.is_there() ? data.first(share_of_receiver(data.size())) : data);
      if (own.is_there()) co_await m.posted(sender, 1);
      co_return;
    }
    detail::cut const pieces(data.size(), 1, M::buffer_bytes);
    for (std::size_t i = 0; i < pieces.count(); ++i) {
      if (i != 0) co_await m.posted(sender, i);
      auto const piece = pieces.of(data, i);
      copy(piece.data(), m.piece(sender, i), piece.size());
      if (pieces.count() > M::buffers) m.done_to(i);
    }
  }

  /// Whether a reduction of so many bytes on each rank tries to read operands where they lie. All ranks must
  /// be in reach, which more than two ranks find out by a round of offers.
  template <class M>
  static bool folds_from_memory(M const& m, std::size_t bytes, detail::folding const& fold) noexcept {
    return bytes >= (m.size() == 2 ? offered_bytes : 8 * offered_bytes) && fold.alignment() <= operands::line;
  }
  template <class M>
  static detail::steps reduce_to(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    if (m.size() == 1) return keep(m, mine, result);
    if constexpr (reaching_medium<M>) {
      if (folds_from_memory(m, mine.size(), fold)) return reduce_from_memory(m, mine, result, fold, root);
    }
    return reduce_from_boards(m, mine, result, fold, root);
  }
  template <class M>
  static detail::steps reduce_from_boards(M& m, bytes_in mine, bytes_out result, detail::folding fold,
                                          rank_t root) {
    return m.size() == 2 || mine.size() <= few_bytes ? reduce_alone(m, mine, result, fold, root)
                                                     : reduce_by_range(m, mine, result, fold, root);
  }

  /// The operands of a reduction, piece by piece, and room for those that calls fetch.
  class operands {
   public:
    static constexpr std::size_t line = 64;

    /// For `bytes` bytes of elements of `unit` bytes.
    operands(std::size_t bytes, std::size_t unit)
        : bytes_(std::max(std::min(longest, bytes) / unit, std::size_t{1}) * unit),
          room_(std::make_unique_for_overwrite<std::byte[]>(2 * bytes_ + 2 * line)) {}
    /// The longest piece, whole elements: all that is at work fits into a core's second level cache.
    [[nodiscard]] std::size_t piece_bytes() const noexcept { return bytes_; }
    /// Folds `out.size()` bytes that begin at byte `at` of each rank's operands into `out`, in rank order.
    /// `out` may lie in the place of this rank's operands.
    template <class M>
    void fold_piece(M& m, bytes_in mine, std::size_t at, bytes_out out, detail::folding const& fold) {
      std::byte const* left = nullptr;
      for (rank_t r = 0; r < m.size(); ++r) {
        std::byte const* const right = of(m, r, mine, at, out.size());
        if (r == 0) {
          left = right;
          continue;
        }
        // Own operands are read before the last operand is.
        std::byte* const into = r + 1 == m.size() ? out.data() : aligned(0);
        fold(into, left, right, out.size());
        left = into;
      }
    }
    /// Room for the result of a piece.
    [[nodiscard]] std::byte* result() noexcept { return aligned(0); }

   private:
    /// Long enough that a call costs little beside its bytes.
    static constexpr std::size_t longest = std::size_t{128} << 10U;

    template <class M>
    std::byte const* of(M& m, rank_t r, bytes_in mine, std::size_t at, std::size_t bytes) {
      if (r == m.rank()) return mine.data() + at;
      memory_place const place = m.offered(r, 0);
      if (std::byte const* const there = m.address_of(place); there != nullptr) return there + at;
      std::byte* const room = aligned(bytes_ + line);
      m.fetch(r, place, at, bytes_out(room, bytes));
      return room;
    }
    std::byte* aligned(std::size_t at) noexcept {
      auto const past = reinterpret_cast<std::uintptr_t>(room_.get() + at) % line;
      return room_.get() + at + (past == 0 ? 0 : line - past);
    }

    std::size_t bytes_;
    std::unique_ptr<std::byte[]> room_;
  };

  /// Each rank folds one range of the elements where they lie, and writes the result to the ranks that want
  /// it: each operand is read once. A rank that gives its memory as result, too, loses no operand: the
  /// rank that writes a range is the only one that reads it.
  template <reaching_medium M>
  static detail::steps reduce_from_memory(M& m, bytes_in mine, bytes_out result, detail::folding fold,
                                          rank_t root) {
    m.begin(detail::unknown_bytes);
    rank_t const self = m.rank();
    auto const wants = [root](rank_t r) { return root == everyone || root == r; };
    memory_place const source = place_of(m, mine);
    memory_place const target = wants(self) ? place_of(m, result) : memory_place{};
    if (!m.is_free(0)) co_await m.until_free(0);
    m.offer(0, source);
    if (!m.is_free(1)) co_await m.until_free(1);
    m.offer(1, target);
    bool all_reach = source.is_there() && (target.is_there() || !wants(self));
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r == self) continue;
      co_await m.posted(r, 1);
      all_reach = all_reach && m.offered(r, 0).is_there() && (m.offered(r, 1).is_there() || !wants(r));
    }
    if (!all_reach) {
      // All ranks have read the same offers, so all of them turn to the boards.
      m.end();
      co_await reduce_from_boards(m, mine, result, fold, root);
      co_return;
    }
    std::size_t const unit = fold.element_bytes();
    auto const first_of = [&](rank_t r) {
      return mine.size() / unit * static_cast<std::size_t>(r) / static_cast<std::size_t>(m.size()) * unit;
    };
    std::size_t const end = first_of(self + 1);
    operands pieces(end - first_of(self), unit);
    for (std::size_t at = first_of(self); at < end; at += pieces.piece_bytes()) {
      std::size_t const bytes = std::min(pieces.piece_bytes(), end - at);
      bytes_out const out = wants(self) ? result.subspan(at, bytes) : bytes_out(pieces.result(), bytes);
      pieces.fold_piece(m, mine, at, out, fold);
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (self + distance) % m.size();
        if (wants(r)) m.deliver(r, m.offered(r, 1), at, out);
      }
    }
    // Carries the results, and says that this rank reads operands no more.
    if (!m.is_free(2)) co_await m.until_free(2);
    m.post(2);
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r != self) co_await m.posted(r, 2);
    }
    m.end();
  }

  /// Each rank folds its block of the elements where they lie.
  template <reaching_medium M>
  static detail::steps reduce_shares_from_memory(M& m, bytes_in all, detail::block_sizes const& sizes,
                                                 bytes_out mine, detail::folding fold) {
    m.begin(detail::unknown_bytes);
    // Results would replace elements that other ranks have not read.
    memory_place const source = overlap(all, mine) ? memory_place{} : place_of(m, all);
    if (!m.is_free(0)) co_await m.until_free(0);
    m.offer(0, source);
    bool all_reach = source.is_there();
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r == m.rank()) continue;
      co_await m.posted(r, 0);
      all_reach = all_reach && m.offered(r, 0).is_there();
    }
    if (!all_reach) {
      m.end();
      co_await reduce_shares(m, all, sizes, mine, fold);
      co_return;
    }
    operands pieces(mine.size(), fold.element_bytes());
    for (std::size_t at = 0; at < mine.size(); at += pieces.piece_bytes()) {
      bytes_out const out = mine.subspan(at, std::min(pieces.piece_bytes(), mine.size() - at));
      pieces.fold_piece(m, all, sizes.first(m.rank()) + at, out, fold);
    }
    m.end();
    co_await read_by_all(m);
  }

  template <reaching_medium M>
  static detail::steps broadcast_from_memory(M& m, bytes_out data, rank_t root) {
    m.begin(data.size());
    if (m.rank() == root) {
      // It reads the other rank's offer only while that rank waits for its answer.
      m.end();
      co_await send(m, data, everyone);
    } else {
      co_await receive(m, root, data);
      m.end();
    }
  }
  template <posting_medium M>
  static detail::steps broadcast_from_board(M& m, bytes_out data, rank_t root) {
    detail::cut const pieces(data.size(), 1, M::buffer_bytes);
    m.begin(data.size());
    if (m.rank() == root) m.end();
    for (std::size_t i = 0; i < pieces.count(); ++i) {
      auto const piece = pieces.of(data, i);
      if (m.rank() == root) {
        if (!m.is_free(i)) co_await m.until_free(i);
        copy(m.own(i), piece.data(), piece.size());
        m.post(i);
      } else {
        co_await m.posted(root, i);
        copy(piece.data(), m.piece(root, i), piece.size());
        if (pieces.count() > M::buffers) m.done_to(i);
      }
    }
    if (m.rank() != root) m.end();
  }

  template <class M>
  static detail::steps reduce_shares(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                                     detail::folding fold) {
    rank_t const self = m.rank();
    std::size_t longest = 0;
    for (rank_t r = 0; r < m.size(); ++r) longest = std::max(longest, sizes.size(r));
    m.begin(in_room(longest * static_cast<std::size_t>(m.size()), fold));
    std::size_t const share = share_of(m, longest, fold.element_bytes());
    std::size_t const rounds = detail::cut::pieces_of(longest, share);
    for (std::size_t i = 0; i <= rounds; ++i) {
      if (i < rounds) {
        if (!m.is_free(i)) co_await m.until_free(i);
        lay_out(m, m.own(i), all, sizes, share, i, no_rank);
        m.post(i);
      }
      if (i == 0) continue;
      std::size_t const first = (i - 1) * share;
      if (first < mine.size()) {
        std::size_t const at = share * static_cast<std::size_t>(self);
        std::size_t const count = std::min(share, mine.size() - first);
        std::byte* const out = mine.data() + first;
        for (rank_t r = 0; r < m.size(); ++r) {
          if (r != self) co_await m.posted(r, i - 1);
          if (r == 0) continue;
          fold(out, r == 1 ? m.piece(0, i - 1) + at : out, m.piece(r, i - 1) + at, count);
        }
      }
      if (rounds > M::buffers) m.done_to(i - 1);
    }
    m.end();
  }

  /// The result of a rank that is alone is its elements.
  template <class M>
  static detail::steps keep(M& m, bytes_in mine, bytes_out result) {
    m.begin(0);
    copy(result.data(), mine.data(), mine.size());
    m.end();
    co_return;
  }

  static constexpr rank_t everyone = -1;  ///< in the place of a root
  static constexpr rank_t no_rank = -1;
  /// Up to so many bytes, each rank folds all elements by itself: one round is sooner over than two.
  static constexpr std::size_t few_bytes = 4096;

  static void copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
  }

  /// The length of elements of which a slot's room holds some, unless they must be aligned better.
  static std::size_t in_room(std::size_t bytes, detail::folding const& fold) noexcept {
    return fold.alignment() > 16 ? detail::unknown_bytes : bytes;
  }

  /// The bytes of a piece for each rank, if a piece has a share for each of them.
  template <class M>
  static std::size_t share_of(M const& m, std::size_t block, std::size_t unit) noexcept {
    std::size_t const most = M::buffer_bytes / static_cast<std::size_t>(m.size());
    // Shares of whole lines do not share lines between readers.
    std::size_t const lines = most / 64 * 64;
    std::size_t const share = unit == 1 && lines != 0 ? lines : most / unit * unit;
    return std::min(block, share);
  }
  /// Writes to this rank's board a piece of a message of `total` bytes.
  ///
  /// The other rank's cache often holds the buffer's lines, which a plain store takes back one by one. Two
  /// ranks write messages of middle length past the caches, so that they need not. More ranks may share a
  /// cache, and shorter messages wait for the memory longer than for the lines.
  template <class M>
  static void write(M const& m, std::byte* to, bytes_in piece, std::size_t total) noexcept {
    if (m.size() == 2 && total >= offered_bytes) {
      detail::stream(to, piece.data(), piece.size());
    } else {
      copy(to, piece.data(), piece.size());
    }
  }

  static bool overlap(bytes_in a, bytes_out b) noexcept {
    std::less<> const before;
    return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
  }

  /// Writes piece i: the share of each rank but `except`, in rank order.
  template <class M>
  static void lay_out(M const& m, std::byte* piece, bytes_in all, detail::block_sizes const& sizes,
                      std::size_t share, std::size_t i, rank_t except) noexcept {
    for (rank_t r = 0; r < m.size(); ++r, piece += share) {
      auto const block = sizes.of(all, r);
      if (r == except || i * share >= block.size()) continue;
      write(m, piece, block.subspan(i * share, std::min(share, block.size() - i * share)), all.size());
    }
  }

  template <class M>
  static detail::steps take_blocks(M& m, bytes_out all, detail::block_sizes const& sizes) {
    if constexpr (reaching_medium<M>) {
      rank_t const other = 1 - m.rank();
      if (m.size() == 2 && sizes.size(other) >= offered_bytes) {
        co_await receive(m, other, sizes.of(all, other));
        co_return;
      }
    }
    std::size_t rounds = 0;
    for (rank_t r = 0; r < m.size(); ++r)
      rounds = std::max(rounds, detail::cut(sizes.size(r), 1, M::buffer_bytes).count());
    for (std::size_t i = 0; i < rounds; ++i) {
      for (rank_t distance = 1; distance < m.size(); ++distance) {
        rank_t const r = (m.rank() + distance) % m.size();
        detail::cut const pieces(sizes.size(r), 1, M::buffer_bytes);
        bool const offers = is_offered<M>(sizes.size(r));
        if (i >= pieces.count() || (i > 0 && offered(m, r, offers).is_there())) continue;
        co_await m.posted(r, i);
        if (memory_place const there = offered(m, r, offers); there.is_there()) {
          fetch(m, r, there, 0, sizes.of(all, r));
          continue;
        }
        auto const out = pieces.of(sizes.of(all, r), i);
        copy(out.data(), m.piece(r, i), out.size());
      }
      if (rounds > M::buffers) m.done_to(i);
    }
  }

  /// Each rank that wants the result reads all ranks' elements. A root does not post, since nobody reads its
  /// elements.
  template <class M>
  static detail::steps reduce_alone(M& m, bytes_in mine, bytes_out result, detail::folding fold,
                                    rank_t root) {
    detail::cut const pieces(mine.size(), fold.element_bytes(), M::buffer_bytes);
    m.begin(in_room(pieces.longest(), fold));
    bool const reads = root == everyone || root == m.rank();
    bool const posts = root != m.rank();
    rank_t const self = m.rank();
    if (!reads) m.end();
    for (std::size_t i = 0; i <= pieces.count(); ++i) {
      if (posts && i < pieces.count()) {
        if (!m.is_free(i)) co_await m.until_free(i);
        auto const piece = pieces.of(mine, i);
        write(m, m.own(i), piece, mine.size());
        m.post(i);
      }
      if (i == 0 || !reads) continue;
      auto const out = pieces.of(result, i - 1);
      // The result may lie in the place of my elements, so those of a root are read before they are replaced.
      std::byte const* const own = posts ? m.own(i - 1) : pieces.of(mine, i - 1).data();
      if (!posts && self > 1 && own == out.data()) {
        co_await fold_in_place(m, i - 1, out, fold);
      } else {
        if (self != 0) co_await m.posted(0, i - 1);
        for (rank_t r = 1; r < m.size(); ++r) {
          if (r != self) co_await m.posted(r, i - 1);
          std::byte const* const left = r > 1 ? out.data() : self == 0 ? own : m.piece(0, i - 1);
          fold(out.data(), left, r == self ? own : m.piece(r, i - 1), out.size());
        }
      }
      if (pieces.count() > M::buffers) m.done_to(i - 1);
    }
    if (reads) m.end();
  }
  /// The same for a root above rank 1 whose result lies in the place of its elements: they move to its board.
  template <class M>
  static detail::steps fold_in_place(M& m, std::size_t i, bytes_out out, detail::folding fold) {
    if (!m.is_free(i)) co_await m.until_free(i);
    copy(m.own(i), out.data(), out.size());
    m.post(i);
    co_await m.posted(0, i);
    for (rank_t r = 1; r < m.size(); ++r) {
      co_await m.posted(r, i);
      fold(out.data(), r == 1 ? m.piece(0, i) : out.data(), m.piece(r, i), out.size());
    }
  }

  /// Each rank folds one range of each piece, and posts it for the ranks that want the result.
  template <class M>
  static detail::steps reduce_by_range(M& m, bytes_in mine, bytes_out result, detail::folding fold,
                                       rank_t root) {
    std::size_t const unit = fold.element_bytes();
    detail::cut const pieces(mine.size(), unit, M::buffer_bytes);
    m.begin(detail::unknown_bytes);
    rank_t const self = m.rank();
    auto const ranks = static_cast<std::size_t>(m.size());
    auto const range = [&](std::size_t bytes, rank_t r) {
      std::size_t const elements = bytes / unit;
      auto const at = static_cast<std::size_t>(r);
      return std::pair(elements * at / ranks * unit, elements * (at + 1) / ranks * unit);
    };
    // Piece 2i holds elements, piece 2i + 1 results.
    for (std::size_t i = 0; i < pieces.count() + 2; ++i) {
      if (i < pieces.count()) {
        if (!m.is_free(2 * i)) co_await m.until_free(2 * i);
        auto const piece = pieces.of(mine, i);
        copy(m.own(2 * i), piece.data(), piece.size());
        m.post(2 * i);
      }
      if (i > 0 && i - 1 < pieces.count()) {
        std::size_t const at = 2 * (i - 1);
        if (!m.is_free(at + 1)) co_await m.until_free(at + 1);
        auto const [first, end] = range(pieces.of(mine, i - 1).size(), self);
        std::byte* const out = m.own(at + 1) + first;
        for (rank_t r = 0; r < m.size(); ++r) {
          if (r != self) co_await m.posted(r, at);
          if (r == 0) continue;
          fold(out, r == 1 ? m.piece(0, at) + first : out, m.piece(r, at) + first, end - first);
        }
        m.post(at + 1);
      }
      if (i > 1) {
        std::size_t const at = 2 * (i - 2) + 1;
        if (root == everyone || root == self) {
          auto const out = pieces.of(result, i - 2);
          for (rank_t distance = 0; distance < m.size(); ++distance) {
            rank_t const r = (self + distance) % m.size();
            if (r != self) co_await m.posted(r, at);
            auto const [first, end] = range(out.size(), r);
            copy(out.data() + first, m.piece(r, at) + first, end - first);
          }
        }
        // Elements of piece i - 2 were read one turn before.
        m.done_to(at);
      }
    }
    m.end();
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::collectives
