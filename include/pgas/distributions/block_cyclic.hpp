// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/distribution.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// Blocks of B indices, assigned to the ranks in turn; the last block may be shorter.
///
/// A power of two that is known at compile time becomes shift and mask. `block_cyclic<>{b}` has a block size
/// at run time.
/// UPC: `[B]`, with the formulas of Ferreras 2008, equation 5.1; HPF: CYCLIC(B); ScaLAPACK: rows and columns
/// of matrices.
template <std::size_t B = 0>
class block_cyclic {
 public:
  static constexpr bool one_block = false;
  /// True if the block size is part of the type.
  static constexpr bool is_static = B != 0;

  constexpr block_cyclic() = default;
  /// Blocks of `block_size` indices; for a size that is not known at compile time.
  constexpr explicit block_cyclic(std::size_t block_size) noexcept
    requires(!is_static)
      : divide_(block_size) {}
  constexpr block_cyclic(std::size_t extent, rank_t ranks) noexcept
    requires is_static
      : extent_(extent), ranks_(ranks) {}
  [[nodiscard]] constexpr block_cyclic over(std::size_t extent, rank_t ranks) const noexcept {
    block_cyclic other = *this;
    other.extent_ = extent;
    other.ranks_ = ranks;
    return other;
  }
  [[nodiscard]] std::optional<std::string> error_for(std::size_t, rank_t) const {
    if (block_size() != 0) return std::nullopt;
    return "blocks of 0 indices hold nothing; give block_cyclic a block size";
  }
  [[nodiscard]] std::string describe() const {
    return "block_cyclic(" + std::to_string(static_cast<std::ptrdiff_t>(block_size())) + ")";
  }

  /// The number of indices of a block.
  [[nodiscard]] constexpr std::size_t block_size() const noexcept { return divide_.value(); }
  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }

  [[nodiscard]] constexpr rank_t owner(std::size_t i) const noexcept {
    return static_cast<rank_t>(divide_.quotient(i) % size());
  }
  [[nodiscard]] constexpr std::size_t local_size(rank_t rank) const noexcept {
    std::size_t const owned = blocks(rank);
    if (owned == 0) return 0;
    return (owned - 1) * block_size() + block_of(rank, owned - 1).count;
  }
  [[nodiscard]] constexpr std::size_t local_index(std::size_t i) const noexcept {
    return local_block(i) * block_size() + phase(i);
  }
  [[nodiscard]] constexpr std::size_t global_index(rank_t rank, std::size_t i) const noexcept {
    return (divide_.quotient(i) * size() + static_cast<std::size_t>(rank)) * block_size() +
           divide_.remainder(i);
  }

  [[nodiscard]] constexpr std::size_t phase(std::size_t i) const noexcept { return divide_.remainder(i); }
  [[nodiscard]] constexpr std::size_t local_block(std::size_t i) const noexcept {
    return divide_.quotient(i) / size();
  }
  [[nodiscard]] constexpr std::size_t blocks(rank_t rank) const noexcept {
    std::size_t const all = divide_.quotient(extent_) + (divide_.remainder(extent_) != 0 ? 1 : 0);
    return all / size() + (static_cast<std::size_t>(rank) < all % size() ? 1 : 0);
  }
  [[nodiscard]] constexpr index_range block_of(rank_t rank, std::size_t local_block) const noexcept {
    std::size_t const first = (local_block * size() + static_cast<std::size_t>(rank)) * block_size();
    std::size_t const rest = extent_ - first;
    return {first, rest < block_size() ? rest : block_size()};
  }

  friend constexpr bool operator==(block_cyclic, block_cyclic) = default;

 private:
  using divisor = std::conditional_t<is_static, detail::static_divisor<B>, detail::divisor>;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(ranks_); }

  std::size_t extent_ = 0;
  rank_t ranks_ = 1;
  [[no_unique_address]] divisor divide_;
};
static_assert(distribution<block_cyclic<4>> && distribution<block_cyclic<3>> && distribution<block_cyclic<>>);
static_assert(sizeof(block_cyclic<4>) == 2 * sizeof(std::size_t), "a static block size takes no memory");

}  // namespace PGAS_NAMESPACE
