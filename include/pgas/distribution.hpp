// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Maps a global index space onto ranks: *where*.
///
/// Axiom: for every i in [0, extent), global_index(owner(i), local_index(i)) == i, and the
/// local indices of a rank are 0, ..., local_size(rank) - 1: a bijection.
template <class D>
concept distribution = std::regular<D> && requires(D const& d, std::size_t i, rank_t rank) {
  { d.extent() } noexcept -> std::same_as<std::size_t>;
  { d.ranks() } noexcept -> std::same_as<rank_t>;
  { d.owner(i) } noexcept -> std::same_as<rank_t>;
  { d.local_size(rank) } noexcept -> std::same_as<std::size_t>;
  { d.local_index(i) } noexcept -> std::same_as<std::size_t>;
  { d.global_index(rank, i) } noexcept -> std::same_as<std::size_t>;
};

/// Contiguous blocks, as even as they can be: the first extent % ranks blocks have one index more.
///
/// With more ranks than indices the last ranks own nothing.
class block {
 public:
  constexpr block() = default;
  constexpr block(std::size_t extent, rank_t ranks) noexcept : extent_(extent), ranks_(ranks) {}

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(std::size_t i) const noexcept {
    std::size_t const in_larger = larger() * (base() + 1);
    return static_cast<rank_t>(i < in_larger ? i / (base() + 1) : larger() + (i - in_larger) / base());
  }
  [[nodiscard]] constexpr std::size_t local_size(rank_t rank) const noexcept {
    return base() + (static_cast<std::size_t>(rank) < larger() ? 1 : 0);
  }
  /// The first global index of a rank's block; extent() when the rank, and all after it, own nothing.
  [[nodiscard]] constexpr std::size_t first(rank_t rank) const noexcept {
    auto const r = static_cast<std::size_t>(rank);
    return r * base() + (r < larger() ? r : larger());
  }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept { return i - first(owner(i)); }
  [[nodiscard]] constexpr std::size_t global_index(rank_t rank, std::size_t i) const noexcept {
    return first(rank) + i;
  }

  friend constexpr bool operator==(block, block) = default;

 private:
  [[nodiscard]] constexpr std::size_t base() const noexcept { return extent_ / static_cast<std::size_t>(ranks_); }
  [[nodiscard]] constexpr std::size_t larger() const noexcept { return extent_ % static_cast<std::size_t>(ranks_); }

  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
};
static_assert(distribution<block>);

}  // namespace pgas::inline PGAS_ASSERTIONS
