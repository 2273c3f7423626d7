// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/distribution.hpp>
#include <pgas/detail/numbers/divisor.hpp>

namespace PGAS_NAMESPACE {

/// Contiguous blocks of almost equal size: the first extent % ranks blocks have one index more.
///
/// If there are more ranks than indices, the last ranks own nothing. UPC: `[*]`; HPF: BLOCK.
class block {
 public:
  static constexpr bool one_block = true;

  constexpr block() = default;
  /// `extent` indices over `ranks` ranks. A program writes block{}, and make_array gives both numbers.
  constexpr block(std::size_t extent, rank_t ranks) noexcept
      : extent_(extent),
        ranks_(ranks),
        larger_(extent % static_cast<std::size_t>(ranks)),
        base_(extent / static_cast<std::size_t>(ranks)),
        base_and_one_(base() + 1) {}
  [[nodiscard]] constexpr block over(std::size_t extent, rank_t ranks) const noexcept {
    return {extent, ranks};
  }
  [[nodiscard]] std::string describe() const { return "block"; }

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(std::size_t i) const noexcept {
    std::size_t const in_larger = larger() * (base() + 1);
    return static_cast<rank_t>(i < in_larger ? base_and_one_.quotient(i)
                                             : larger() + base_.quotient(i - in_larger));
  }
  [[nodiscard]] constexpr std::size_t local_size(rank_t rank) const noexcept {
    return base() + (static_cast<std::size_t>(rank) < larger() ? 1 : 0);
  }
  /// The first global index of a rank's block; extent() if this rank and all ranks after it own nothing.
  [[nodiscard]] constexpr std::size_t first(rank_t rank) const noexcept {
    auto const r = static_cast<std::size_t>(rank);
    return r * base() + (r < larger() ? r : larger());
  }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept {
    return i - first(owner(i));
  }
  [[nodiscard]] constexpr std::size_t global_index(rank_t rank, std::size_t i) const noexcept {
    return first(rank) + i;
  }

  [[nodiscard]] constexpr std::size_t phase(std::size_t i) const noexcept { return local_index(i); }
  [[nodiscard]] constexpr std::size_t local_block(std::size_t) const noexcept { return 0; }
  [[nodiscard]] constexpr std::size_t blocks(rank_t rank) const noexcept {
    return local_size(rank) == 0 ? 0 : 1;
  }
  [[nodiscard]] constexpr index_range block_of(rank_t rank, std::size_t) const noexcept {
    return {first(rank), local_size(rank)};
  }

  friend constexpr bool operator==(block, block) = default;

 private:
  [[nodiscard]] constexpr std::size_t base() const noexcept { return base_.value(); }
  [[nodiscard]] constexpr std::size_t larger() const noexcept { return larger_; }

  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
  std::size_t larger_ = 0;  ///< number of blocks with one index more; divided once, not at each look-up
  detail::divisor base_{0};
  detail::divisor base_and_one_{1};
};
static_assert(contiguous_distribution<block>);

}  // namespace PGAS_NAMESPACE
