// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/distribution.hpp>

namespace PGAS_NAMESPACE {

/// An undivided dimension: the owner of one of its indices owns all of them.
///
/// It uses one rank however many there are, so a grid of ranks has extent 1 in this dimension. UPC: `[]`;
/// HPF: `*`.
class whole {
 public:
  static constexpr bool one_block = true;
  /// The largest number of ranks that this distribution can use.
  static constexpr rank_t max_ranks = 1;

  constexpr whole() = default;
  /// `extent` indices on one rank. A program writes whole{}, and make_array gives the number.
  constexpr explicit whole(std::size_t extent, rank_t = 1) noexcept : extent_(extent) {}
  [[nodiscard]] constexpr whole over(std::size_t extent, rank_t) const noexcept { return whole(extent); }
  [[nodiscard]] std::string describe() const { return "whole"; }

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return 1; }

  [[nodiscard]] constexpr rank_t owner(std::size_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t local_size(rank_t) const noexcept { return extent_; }
  [[nodiscard]] constexpr std::size_t first(rank_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept { return i; }
  [[nodiscard]] constexpr std::size_t global_index(rank_t, std::size_t i) const noexcept { return i; }

  [[nodiscard]] constexpr std::size_t phase(std::size_t i) const noexcept { return i; }
  [[nodiscard]] constexpr std::size_t local_block(std::size_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t blocks(rank_t) const noexcept { return extent_ == 0 ? 0 : 1; }
  [[nodiscard]] constexpr index_range block_of(rank_t, std::size_t) const noexcept { return {0, extent_}; }

  friend constexpr bool operator==(whole, whole) = default;

 private:
  std::size_t extent_ = 0;
};
static_assert(contiguous_distribution<whole>);

}  // namespace PGAS_NAMESPACE
