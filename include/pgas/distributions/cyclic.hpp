// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/distribution.hpp>

namespace PGAS_NAMESPACE {

/// Index i belongs to rank i % ranks; each index is a block of its own. UPC: the default; HPF: CYCLIC.
class cyclic {
 public:
  static constexpr bool one_block = false;

  constexpr cyclic() = default;
  /// `extent` indices over `ranks` ranks. A program writes cyclic{}, and make_array gives both numbers.
  constexpr cyclic(std::size_t extent, rank_t ranks) noexcept : extent_(extent), ranks_(ranks) {}
  [[nodiscard]] constexpr cyclic over(std::size_t extent, rank_t ranks) const noexcept {
    return {extent, ranks};
  }
  [[nodiscard]] std::string describe() const { return "cyclic"; }

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(std::size_t i) const noexcept {
    return static_cast<rank_t>(i % size());
  }
  [[nodiscard]] constexpr std::size_t local_size(rank_t rank) const noexcept {
    return extent_ / size() + (static_cast<std::size_t>(rank) < extent_ % size() ? 1 : 0);
  }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept { return i / size(); }
  [[nodiscard]] constexpr std::size_t global_index(rank_t rank, std::size_t i) const noexcept {
    return i * size() + static_cast<std::size_t>(rank);
  }

  [[nodiscard]] constexpr std::size_t phase(std::size_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t local_block(std::size_t i) const noexcept { return local_index(i); }
  [[nodiscard]] constexpr std::size_t blocks(rank_t rank) const noexcept { return local_size(rank); }
  [[nodiscard]] constexpr index_range block_of(rank_t rank, std::size_t local_block) const noexcept {
    return {global_index(rank, local_block), 1};
  }

  friend constexpr bool operator==(cyclic, cyclic) = default;

 private:
  [[nodiscard]] constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(ranks_); }

  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
};
static_assert(distribution<cyclic>);

}  // namespace PGAS_NAMESPACE
