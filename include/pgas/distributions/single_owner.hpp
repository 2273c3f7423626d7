// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/distribution.hpp>

namespace PGAS_NAMESPACE {

/// All indices belong to one rank: `single_owner{3}`, or rank 0 by default. UPC: `[]`.
class single_owner {
 public:
  static constexpr bool one_block = true;

  constexpr single_owner() = default;
  /// All indices belong to rank `owner`.
  constexpr explicit single_owner(rank_t owner) noexcept : owner_(owner), ranks_(owner + 1) {}
  [[nodiscard]] constexpr single_owner over(std::size_t extent, rank_t ranks) const noexcept {
    single_owner other = *this;
    other.extent_ = extent;
    other.ranks_ = ranks;
    return other;
  }
  [[nodiscard]] std::optional<std::string> error_for(std::size_t, rank_t ranks) const {
    if (owner_ >= 0 && owner_ < ranks) return std::nullopt;
    return "rank " + std::to_string(owner_) + " is to own all indices, but there are " +
           std::to_string(ranks) + " ranks; name one of them";
  }
  [[nodiscard]] std::string describe() const { return "single_owner(" + std::to_string(owner_) + ")"; }

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(std::size_t) const noexcept { return owner_; }
  [[nodiscard]] constexpr std::size_t local_size(rank_t rank) const noexcept {
    return rank == owner_ ? extent_ : 0;
  }
  [[nodiscard]] constexpr std::size_t first(rank_t rank) const noexcept {
    return rank <= owner_ ? 0 : extent_;
  }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept { return i; }
  [[nodiscard]] constexpr std::size_t global_index(rank_t, std::size_t i) const noexcept { return i; }

  [[nodiscard]] constexpr std::size_t phase(std::size_t i) const noexcept { return i; }
  [[nodiscard]] constexpr std::size_t local_block(std::size_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t blocks(rank_t rank) const noexcept {
    return local_size(rank) == 0 ? 0 : 1;
  }
  [[nodiscard]] constexpr index_range block_of(rank_t rank, std::size_t) const noexcept {
    return {first(rank), local_size(rank)};
  }

  friend constexpr bool operator==(single_owner, single_owner) = default;

 private:
  rank_t owner_ = 0;
  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
};
static_assert(contiguous_distribution<single_owner>);

}  // namespace PGAS_NAMESPACE
