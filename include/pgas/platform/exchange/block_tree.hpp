// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/platform/exchange/binomial.hpp>
#include <pgas/platform/exchange/steps.hpp>
#include <pgas/support/copy_bytes.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The subtree of a rank in a binomial tree, and the blocks of its ranks side by side: first the rank's own
/// one, then those of the next ranks in the circle. All ranks know the sizes of all blocks.
class block_subtree {
 public:
  block_subtree(rank_t rank, rank_t ranks, rank_t root, block_sizes const& sizes)
      : sizes_(&sizes),
        rank_(rank),
        ranks_(ranks),
        place_(static_cast<unsigned>(rank - root + ranks) % static_cast<unsigned>(ranks)) {
    while (place_ != 0 ? (place_ >> levels_ & 1U) == 0 : levels_ < doublings(ranks)) ++levels_;
    blocks_.resize(bytes(0, 1U << levels_));
  }

  /// The link to the parent has this exponent, and those to children lower ones.
  [[nodiscard]] unsigned levels() const noexcept { return levels_; }
  [[nodiscard]] bool is_root() const noexcept { return place_ == 0; }
  [[nodiscard]] bytes_out blocks() noexcept { return blocks_; }
  /// The blocks of the child at distance 2^k; none if there is no such child.
  [[nodiscard]] bytes_out of_child(unsigned k) noexcept {
    return bytes_out(blocks_).subspan(bytes(0, 1U << k), bytes(1U << k, 1U << k));
  }

  /// Copies the blocks of all ranks to or from memory in rank order, on the root.
  void copy_out(bytes_out all) const {
    std::size_t const own = tail();
    copy_bytes(all.data() + sizes_->first(rank_), blocks_.data(), own);
    copy_bytes(all.data(), blocks_.data() + own, blocks_.size() - own);
  }
  void copy_in(bytes_in all) {
    std::size_t const own = tail();
    copy_bytes(blocks_.data(), all.data() + sizes_->first(rank_), own);
    copy_bytes(blocks_.data() + own, all.data(), blocks_.size() - own);
  }

 private:
  /// The bytes of the root's block and of those up to the last rank's.
  [[nodiscard]] std::size_t tail() const noexcept { return sizes_->first(ranks_) - sizes_->first(rank_); }
  /// The bytes of `count` blocks from the one at distance `ahead` on, as far as the tree has such ranks.
  [[nodiscard]] std::size_t bytes(unsigned ahead, unsigned count) const noexcept {
    auto const ranks = static_cast<unsigned>(ranks_);
    unsigned const first = std::min(place_ + ahead, ranks);
    unsigned const end = std::min(place_ + ahead + count, ranks);
    std::size_t sum = 0;
    for (unsigned at = first; at < end; ++at) {
      unsigned const rank = (static_cast<unsigned>(rank_) + at - place_) % ranks;
      sum += sizes_->size(static_cast<rank_t>(rank));
    }
    return sum;
  }

  block_sizes const* sizes_;
  rank_t rank_;
  rank_t ranks_;
  unsigned place_;
  unsigned levels_ = 0;
  std::vector<std::byte> blocks_;
};

/// Gathers blocks up a binomial tree.
template <linking_medium M>
steps gather_up(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes, rank_t root) {
  block_subtree tree(m.rank(), m.size(), root, sizes);
  copy_bytes(tree.blocks().data(), mine.data(), mine.size());
  for (unsigned k = 0; k < tree.levels(); ++k) co_await m.receive(link{k, true}, tree.of_child(k));
  if (tree.is_root()) {
    tree.copy_out(all);
  } else {
    co_await m.send(link{tree.levels(), true}, tree.blocks());
  }
}

/// Scatters blocks down a binomial tree.
template <linking_medium M>
steps scatter_down(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, rank_t root) {
  block_subtree tree(m.rank(), m.size(), root, sizes);
  if (tree.is_root()) {
    tree.copy_in(all);
  } else {
    co_await m.receive(link{tree.levels(), false}, tree.blocks());
  }
  for (unsigned k = tree.levels(); k-- > 0;) co_await m.send(link{k, false}, tree.of_child(k));
  copy_bytes(mine.data(), tree.blocks().data(), mine.size());
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
