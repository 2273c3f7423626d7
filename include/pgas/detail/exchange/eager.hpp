// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/shared_pieces.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace PGAS_NAMESPACE::detail {

/// An eager medium is a posting medium on which ranks also wait in place: `wait_free(i)` and `wait_posted(r,
/// i)` return when `until_free(i)` and `posted(r, i)` go on. `has_posted(r, i)` says whether the latter would
/// return at once. Pieces of up to `short_bytes` travel with their numbers.
template <class M>
concept eager_medium = posting_medium<M> && requires(M& m, rank_t r, std::size_t i) {
  m.wait_free(i);
  m.wait_posted(r, i);
  { m.has_posted(r, i) } -> std::same_as<bool>;
  { M::short_bytes } -> std::convertible_to<std::size_t>;
};

/// Eager collectives: one short piece a rank, which travels in the slot that announces it.
///
/// They do what `collectives::direct` does for such pieces, without coroutines. They use the same buffers, so
/// some ranks may use coroutines while others do not. A rank writes its message, and reads those of others
/// when all of them are there; elements are folded in rank order. Each operation returns whether it is over
/// on this rank.
///
/// Requires  equal lengths on all ranks, of 1 to `short_bytes` bytes, for all shares of a message together.
/// Lines     one for each message of up to 48 bytes that a rank reads (16 if calls are compared).
/// States    of an operation on a rank: not begun; written, if messages of others are missing; over. One that
///           `writes` leaves the first state and one that does not begins in the second. One that `waits`
///           ends in the third; another one ends there if no message is missing.
/// Orders    those of the medium: the release in `post` pairs with the acquire in `wait_posted`, and carries
///           the message; the release in `end`, or in a later post, pairs with the acquire of the rank that
///           writes the message's buffer again.
/// Memory    none but the slots.
struct eager_exchange {
  bool writes = true;
  bool waits = true;

  template <eager_medium M>
  bool broadcast(M& m, bytes_out data, rank_t root) const {
    bool const gives = m.rank() == root;
    return exchange(
        m, data.size(), gives ? nobody : ranks_in{root, root + 1},
        [&] {
          if (gives) write(m, data);
        },
        [&] {
          if (!gives) copy(data.data(), m.piece(root, 0), data.size());
        });
  }

  template <eager_medium M>
  bool all_reduce(M& m, bytes_in mine, bytes_out result, folding const& fold) const {
    return exchange(
        m, mine.size(), all_of(m), [&] { write(m, mine); },
        [&] { fold_up_to(m, m.size() - 1, mine, result.data(), fold); });
  }

  template <eager_medium M>
  bool reduce(M& m, bytes_in mine, bytes_out result, folding const& fold, rank_t root) const {
    bool const gives = m.rank() != root;
    return exchange(
        m, mine.size(), gives ? nobody : all_of(m),
        [&] {
          if (gives) write(m, mine);
        },
        [&] {
          if (!gives) fold_up_to(m, m.size() - 1, mine, result.data(), fold);
        });
  }

  template <eager_medium M>
  bool scan(M& m, bytes_in mine, bytes_out result, folding const& fold, bool is_exclusive) const {
    rank_t const self = m.rank();
    return exchange(
        m, mine.size(), {0, self},
        [&] {
          if (self + 1 != m.size()) write(m, mine);
        },
        [&] {
          rank_t const last = is_exclusive ? self - 1 : self;
          if (last >= 0) fold_up_to(m, last, mine, result.data(), fold);
        });
  }

  template <eager_medium M>
  bool gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes, bool /*are_equal*/,
              rank_t root) const {
    bool const gives = m.rank() != root;
    return exchange(
        m, mine.size(), gives ? nobody : all_of(m),
        [&] {
          if (gives) write(m, mine);
        },
        [&] {
          if (!gives) take_blocks(m, mine, all, sizes);
        });
  }

  template <eager_medium M>
  bool all_gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes) const {
    return exchange(
        m, mine.size(), all_of(m), [&] { write(m, mine); }, [&] { take_blocks(m, mine, all, sizes); });
  }

  template <eager_medium M>
  bool scatter(M& m, bytes_in all, block_sizes const& /*sizes*/, bytes_out mine, bool /*are_equal*/,
               rank_t root) const {
    std::size_t const own = mine.size() * static_cast<std::size_t>(m.rank());
    bool const gives = m.rank() == root;
    return exchange(
        m, mine.size() * static_cast<std::size_t>(m.size()), gives ? nobody : ranks_in{root, root + 1},
        [&] {
          if (gives) write_shares(m, all, mine.size());
        },
        [&] { copy(mine.data(), (gives ? all.data() : m.piece(root, 0)) + own, mine.size()); });
  }

  template <eager_medium M>
  bool all_to_all(M& m, bytes_in from, block_sizes const& sizes, bytes_out into, block_sizes const& /*in*/,
                  bool /*are_equal*/) const {
    std::size_t const each = sizes.size(0);
    std::size_t const own = each * static_cast<std::size_t>(m.rank());
    return exchange(
        m, from.size(), all_of(m), [&] { write_shares(m, from, each); },
        [&] {
          for (rank_t r = 0; r < m.size(); ++r) {
            std::size_t const at = each * static_cast<std::size_t>(r);
            copy(into.data() + at, r == m.rank() ? from.data() + own : m.piece(r, 0) + own, each);
          }
        });
  }

  template <eager_medium M>
  bool reduce_scatter(M& m, bytes_in all, block_sizes const& /*sizes*/, bytes_out mine,
                      folding const& fold) const {
    std::size_t const own = mine.size() * static_cast<std::size_t>(m.rank());
    return exchange(
        m, all.size(), all_of(m), [&] { write_shares(m, all, mine.size()); },
        [&] { fold_up_to(m, m.size() - 1, all.subspan(own, mine.size()), mine.data(), fold, own); });
  }

 private:
  /// Ranks from `first` to before `end`, without this rank.
  struct ranks_in {
    rank_t first;
    rank_t end;
  };
  static constexpr ranks_in nobody{0, 0};
  template <class M>
  static ranks_in all_of(M const& m) noexcept {
    return {0, m.size()};
  }

  /// A collective: this rank writes, and then reads what the awaited ranks have posted.
  template <class M, class Write, class Read>
  bool exchange(M& m, std::size_t bytes, ranks_in awaited, Write const& write_message,
                Read const& read_messages) const {
    if (writes) {
      m.begin(bytes);
      if (awaited.first == awaited.end) m.end();
      write_message();
    }
    for (rank_t r = awaited.first; r < awaited.end; ++r) {
      if (r == m.rank()) continue;
      if (!waits && !m.has_posted(r, 0)) return false;
      m.wait_posted(r, 0);
    }
    read_messages();
    if (awaited.first != awaited.end) m.end();
    return true;
  }

  /// Copies bytes, also onto themselves. One word is by far the most frequent message.
  static void copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes == sizeof(word)) {
      std::memcpy(to, from, sizeof(word));
    } else {
      std::memmove(to, from, bytes);
    }
  }

  /// Posts this rank's message.
  template <class M>
  static void write(M& m, bytes_in message) {
    if (!m.is_free(0)) m.wait_free(0);
    copy(m.own(0), message.data(), message.size());
    m.post(0);
  }
  /// Posts a message with a share of this many bytes for each other rank, in rank order.
  template <class M>
  static void write_shares(M& m, bytes_in all, std::size_t share) {
    if (!m.is_free(0)) m.wait_free(0);
    std::byte* const message = m.own(0);
    for (rank_t r = 0; r < m.size(); ++r) {
      std::size_t const at = share * static_cast<std::size_t>(r);
      if (r != m.rank()) copy(message + at, all.data() + at, share);
    }
    m.post(0);
  }

  template <class M>
  static void take_blocks(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes) {
    for (rank_t r = 0; r < m.size(); ++r)
      copy(all.data() + sizes.first(r), r == m.rank() ? mine.data() : m.piece(r, 0), mine.size());
  }

  /// Writes the fold of the elements of ranks 0 to `last`, those at byte `at` of the messages. The result may
  /// lie in the place of this rank's elements: it is written after all elements have been read.
  template <class M>
  static void fold_up_to(M& m, rank_t last, bytes_in mine, std::byte* result, folding const& fold,
                         std::size_t at = 0) {
    auto const elements = [&](rank_t r) { return r == m.rank() ? mine.data() : m.piece(r, 0) + at; };
    if (last == 0) return copy(result, elements(0), mine.size());
    alignas(16) std::array<std::byte, M::short_bytes> between;
    std::byte const* left = elements(0);
    for (rank_t r = 1; r <= last; ++r) {
      std::byte* const into = r == last ? result : between.data();
      fold(into, left, elements(r), mine.size());
      left = into;
    }
  }
};

}  // namespace PGAS_NAMESPACE::detail
