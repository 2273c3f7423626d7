// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The number of bits that count the ranks of a team: of rounds whose distance doubles.
constexpr unsigned doublings(rank_t ranks) noexcept {
  unsigned k = 0;
  while (std::size_t{1} << k < static_cast<std::size_t>(ranks)) ++k;
  return k;
}

/// Sends the root's bytes down a binomial tree. A rank passes each piece on before it receives the next.
template <linking_medium M>
steps send_down(M& m, bytes_out data, rank_t root) {
  auto const place = static_cast<unsigned>((m.rank() - root + m.size()) % m.size());
  auto const ranks = static_cast<unsigned>(m.size());
  // The parent of a place has its lowest bit cleared; its children have a lower bit set.
  unsigned lowest = 0;
  while (place != 0 ? (place >> lowest & 1U) == 0 : lowest < doublings(m.size())) ++lowest;
  for (std::size_t at = 0; at < data.size(); at += M::piece_bytes) {
    auto const piece = data.subspan(at, std::min(M::piece_bytes, data.size() - at));
    if (place != 0) co_await m.receive(link{lowest, false}, piece);
    for (unsigned k = lowest; k-- > 0;) {
      if (place + (1U << k) < ranks) co_await m.send(link{k, false}, piece);
    }
  }
}

/// Gives rank 0 op over all ranks' elements, folded in rank order, up a binomial tree. `all` holds this
/// rank's elements first, and what its subtree folds to at the end.
template <linking_medium M>
steps fold_up(M& m, bytes_out all, folding fold) {
  auto const place = static_cast<unsigned>(m.rank());
  for (unsigned k = 0; k < doublings(m.size()); ++k) {
    link const down{k, true};
    bool const sends = (place >> k & 1U) != 0;
    if (!sends && place + (1U << k) >= static_cast<unsigned>(m.size())) continue;
    auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
      fold(all.data() + first, all.data() + first, piece, bytes);
    };
    bytes_in const out = sends ? bytes_in(all) : bytes_in();
    co_await m.exchange_and_take(down, out, down, sends ? 0 : all.size(), fold.element_bytes(), take);
    if (sends) co_return;
  }
}

/// Carries bytes from rank 0 to rank `to`, along one link for each bit of its number.
template <linking_medium M>
steps carry_up(M& m, bytes_out data, rank_t to) {
  auto const self = static_cast<unsigned>(m.rank());
  unsigned at = 0;
  for (unsigned k = 0; k < doublings(m.size()); ++k) {
    if ((static_cast<unsigned>(to) >> k & 1U) == 0) continue;
    if (self == at) co_await m.send(link{k, false}, data);
    at += 1U << k;
    if (self == at) co_await m.receive(link{k, false}, data);
  }
}

/// The subtree of a rank in a binomial tree. Its blocks lie side by side: first the rank's own one, then
/// those of the next ranks in the ring. All ranks know the sizes of all blocks.
class block_subtree {
 public:
  block_subtree(rank_t rank, rank_t ranks, rank_t root, block_sizes const& sizes)
      : sizes_(&sizes), rank_(rank), ranks_(ranks), place_((rank - root + ranks) % ranks) {
    auto const place = static_cast<unsigned>(place_);
    while (place != 0 ? (place >> levels_ & 1U) == 0 : levels_ < doublings(ranks)) ++levels_;
  }

  /// The link to the parent has this exponent, and those to children lower ones.
  [[nodiscard]] unsigned levels() const noexcept { return levels_; }
  [[nodiscard]] bool is_root() const noexcept { return place_ == 0; }
  /// The bytes of all blocks.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes(0, count(0, levels_)); }
  /// The blocks of the child at distance 2^k among those of the subtree; none if there is no such child.
  template <class Byte>
  [[nodiscard]] std::span<Byte> of_child(std::span<Byte> blocks, unsigned k) const noexcept {
    return blocks.subspan(bytes(0, count(0, k)), child_bytes(k));
  }
  [[nodiscard]] std::size_t child_bytes(unsigned k) const noexcept { return bytes(1 << k, count(1 << k, k)); }

  /// The blocks of a child in memory of all ranks: two pieces if the child's ranks go past the last rank.
  template <class Byte>
  [[nodiscard]] std::array<std::span<Byte>, 2> in_rank_order(std::span<Byte> all, unsigned k) const noexcept {
    rank_t const first = (rank_ + (1 << k)) % ranks_;
    rank_t const end = first + count(1 << k, k);
    auto const between = [&](rank_t a, rank_t b) {
      return all.subspan(sizes_->first(a), sizes_->first(b) - sizes_->first(a));
    };
    if (end <= ranks_) return {between(first, end), {}};
    return {between(first, ranks_), between(0, end - ranks_)};
  }

 private:
  /// The number of the 2^k places from `ahead` on that the tree has.
  [[nodiscard]] rank_t count(rank_t ahead, unsigned k) const noexcept {
    return std::clamp(ranks_ - place_ - ahead, rank_t{0}, static_cast<rank_t>(1 << k));
  }
  /// The bytes of so many blocks.
  [[nodiscard]] std::size_t bytes(rank_t ahead, rank_t blocks) const noexcept {
    std::size_t sum = 0;
    for (rank_t at = ahead; at < ahead + blocks; ++at) sum += sizes_->size((rank_ + at) % ranks_);
    return sum;
  }

  block_sizes const* sizes_;
  rank_t rank_;
  rank_t ranks_;
  rank_t place_;
  unsigned levels_ = 0;
};

/// Gathers blocks up a binomial tree.
template <linking_medium M>
steps gather_up(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes, rank_t root) {
  block_subtree const tree(m.rank(), m.size(), root, sizes);
  std::vector<std::byte> kept;
  if (tree.is_root()) {
    copy_bytes(sizes.of(all, root).data(), mine.data(), mine.size());
    for (unsigned k = 0; k < tree.levels(); ++k) {
      auto const [low, high] = tree.in_rank_order(all, k);
      if (high.empty()) {
        co_await m.receive(link{k, true}, low);
      } else {
        kept.resize(tree.child_bytes(k));
        co_await m.receive(link{k, true}, kept);
        copy_bytes(low.data(), kept.data(), low.size());
        copy_bytes(high.data(), kept.data() + low.size(), high.size());
      }
    }
    co_return;
  }
  if (tree.levels() > 0) {
    kept.resize(tree.bytes());
    copy_bytes(kept.data(), mine.data(), mine.size());
    for (unsigned k = 0; k < tree.levels(); ++k)
      co_await m.receive(link{k, true}, tree.of_child(bytes_out(kept), k));
  }
  co_await m.send(link{tree.levels(), true}, tree.levels() > 0 ? bytes_in(kept) : mine);
}

/// Scatters blocks down a binomial tree. The root may give no memory for its own block.
template <linking_medium M>
steps scatter_down(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, rank_t root) {
  block_subtree const tree(m.rank(), m.size(), root, sizes);
  std::vector<std::byte> kept;
  if (tree.is_root()) {
    for (unsigned k = tree.levels(); k-- > 0;) {
      auto const [low, high] = tree.in_rank_order(all, k);
      if (high.empty()) {
        co_await m.send(link{k, false}, low);
      } else {
        kept.resize(low.size() + high.size());
        copy_bytes(kept.data(), low.data(), low.size());
        copy_bytes(kept.data() + low.size(), high.data(), high.size());
        co_await m.send(link{k, false}, kept);
      }
    }
    copy_bytes(mine.data(), sizes.of(all, root).data(), mine.size());
    co_return;
  }
  if (tree.levels() > 0) kept.resize(tree.bytes());
  bytes_out const blocks = tree.levels() > 0 ? bytes_out(kept) : mine;
  co_await m.receive(link{tree.levels(), false}, blocks);
  for (unsigned k = tree.levels(); k-- > 0;)
    co_await m.send(link{k, false}, bytes_in(tree.of_child(blocks, k)));
  if (tree.levels() > 0) copy_bytes(mine.data(), blocks.data(), mine.size());
}

}  // namespace PGAS_NAMESPACE::detail
