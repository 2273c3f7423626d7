// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

/// The reference for distributions and layouts.
namespace pgas_test {

using pgas::rank_t;

/// The owner and place of each index, found by dealing blocks to owners in the order of the indices.
class table {
 public:
  struct entry {
    rank_t owner = 0;
    std::size_t local = 0;
    std::size_t local_block = 0;
    std::size_t phase = 0;
  };

  /// Blocks of these sizes with these owners; an empty block has no owner.
  table(std::vector<std::pair<std::size_t, rank_t>> const& blocks, rank_t ranks)
      : sizes_(static_cast<std::size_t>(ranks)), courses_(static_cast<std::size_t>(ranks)) {
    for (auto const& [size, owner] : blocks) {
      if (size == 0) continue;
      auto const r = static_cast<std::size_t>(owner);
      for (std::size_t phase = 0; phase < size; ++phase)
        entries_.push_back({owner, sizes_[r]++, courses_[r], phase});
      ++courses_[r];
    }
  }

  [[nodiscard]] std::vector<entry> const& entries() const { return entries_; }
  [[nodiscard]] std::size_t size(rank_t rank) const { return sizes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t courses(rank_t rank) const { return courses_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<entry> entries_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> courses_;
};

/// Blocks of one size, dealt to the ranks in turn.
inline table dealt(std::size_t extent, rank_t ranks, std::size_t block_size) {
  std::vector<std::pair<std::size_t, rank_t>> blocks;
  rank_t next = 0;
  for (std::size_t i = 0; i < extent; i += block_size) {
    blocks.emplace_back(std::min(block_size, extent - i), next);
    next = (next + 1) % ranks;
  }
  return {blocks, ranks};
}

/// A block for each rank, in their order.
inline table one_each(std::vector<std::size_t> const& sizes) {
  std::vector<std::pair<std::size_t, rank_t>> blocks;
  for (std::size_t r = 0; r < sizes.size(); ++r) blocks.emplace_back(sizes[r], static_cast<rank_t>(r));
  return {blocks, static_cast<rank_t>(sizes.size())};
}

}  // namespace pgas_test
