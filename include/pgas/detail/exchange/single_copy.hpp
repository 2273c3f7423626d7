// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/shared_pieces.hpp>
#include <pgas/detail/exchange/steps.hpp>

namespace PGAS_NAMESPACE::detail {

/// System calls copy messages of at least this many bytes.
inline constexpr std::size_t called_bytes = 32768;

/// Whether a message of this many bytes begins with an offer of the sender's memory.
template <posting_medium M>
constexpr bool is_offered(std::size_t bytes) noexcept {
  return reaching_medium<M> && bytes >= offered_bytes;
}

/// The place of this rank's memory if direct copies are faster than those by way of the shared area. A system
/// call copies at half the speed of loads and stores or less. So it is used between two ranks, which then
/// both copy. It is not used in a stream, where one rank writes pieces while the other reads them.
template <posting_medium M>
memory_place place_for_copies(M& m, bytes_in memory, bool is_stream = false) noexcept {
  if constexpr (reaching_medium<M>) {
    memory_place const place = m.place_of(memory);
    bool const is_called = place.by == memory_place::reach::call;
    bool const calls_win = m.size() == 2 && memory.size() >= called_bytes && !is_stream;
    if (!is_called || calls_win) return place;
  }
  return {};
}

/// Posts piece i, or offers the place instead. If ranks `offer`, piece 0 says of each rank whether it does.
template <posting_medium M>
void post_or_offer(M& m, std::size_t i, bool offer, memory_place place) {
  if constexpr (reaching_medium<M>) {
    if (offer && i == 0) return m.offer(0, place);
  }
  m.post(i);
}

/// The memory that a rank has offered in its piece 0, if ranks `offer`.
template <posting_medium M>
memory_place offered_by(M& m, rank_t r, bool offer) {
  if constexpr (reaching_medium<M>) {
    if (offer) return m.offered(r, 0);
  }
  return {};
}

/// Copies bytes of the memory that a rank has offered, from byte `first` on.
template <posting_medium M>
void fetch_from(M& m, rank_t r, memory_place place, std::size_t first, bytes_out into) {
  if constexpr (reaching_medium<M>) m.fetch(r, place, first, into);
}

/// Ends when all ranks have read what this rank has offered.
template <posting_medium M>
steps read_by_all(M& m) {
  if constexpr (reaching_medium<M>) {
    for (rank_t r = 0; r < m.size(); ++r) {
      if (r != m.rank()) co_await m.read_by(r, 0);
    }
  }
}

/// The number of bytes, in whole lines, that the receiver copies if two ranks reach each other's memory. The
/// sender copies the others.
constexpr std::size_t share_of_receiver(std::size_t bytes) noexcept { return bytes / 2 / 64 * 64; }

/// Sends bytes to one rank, or to `every_rank`.
template <reaching_medium M>
steps send_whole(M& m, bytes_in data, rank_t receiver) {
  if (!m.is_free(0)) co_await m.until_free(0);
  memory_place const place = place_for_copies(m, data, receiver == every_rank);
  if (!place.is_there()) {
    cut const pieces(data.size(), 1, M::buffer_bytes);
    for (std::size_t i = 0; i < pieces.count(); ++i) {
      if (i != 0 && !m.is_free(i)) co_await m.until_free(i);
      auto const piece = pieces.of(data, i);
      copy_bytes(m.own(i), piece.data(), piece.size());
      post_or_offer(m, i, true, {});
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
  if (receiver == every_rank) {
    co_await read_by_all(m);
  } else {
    co_await m.read_by(receiver, 0);
  }
}

/// Receives what `send_whole` sends. The bytes begin at byte `first` of what the sender offers to more than
/// one rank. If the sender has `announced` the length, the ranks compare it.
template <reaching_medium M>
steps receive_whole(M& m, rank_t sender, bytes_out data, std::size_t first = 0, bool announced = false) {
  memory_place const own = m.size() == 2 ? place_for_copies(m, data) : memory_place{};
  if (m.size() == 2) {
    if (!m.is_free(0)) co_await m.until_free(0);
    m.offer(0, own);
  }
  co_await m.posted(sender, 0);
  if (announced) m.compare_announced(sender, data.size());
  if (memory_place const place = m.offered(sender, 0); place.is_there()) {
    m.fetch(sender, place, first, own.is_there() ? data.first(share_of_receiver(data.size())) : data);
    if (own.is_there()) co_await m.posted(sender, 1);
    co_return;
  }
  cut const pieces(data.size(), 1, M::buffer_bytes);
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    if (i != 0) co_await m.posted(sender, i);
    auto const piece = pieces.of(data, i);
    copy_bytes(piece.data(), m.piece(sender, i), piece.size());
    if (pieces.count() > M::buffers) m.done_to(i);
  }
}

}  // namespace PGAS_NAMESPACE::detail
