// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <pgas/vocabulary/rank.hpp>
#include <string>

namespace PGAS_NAMESPACE {

/// `count` consecutive indices from `first` on.
struct index_range {
  std::size_t first = 0;  ///< the smallest index
  std::size_t count = 0;  ///< the number of indices

  friend constexpr bool operator==(index_range, index_range) = default;
};

/// A distribution of the indices of one dimension over ranks, in *blocks* of consecutive indices.
///
/// `extent()` is the number of indices, and `ranks()` that of ranks. `owner(i)` is the rank that owns i.
/// `local_size(rank)` is the number of a rank's indices. `global_index(rank, k)` inverts `local_index`.
/// `local_index` counts the indices of one owner in ascending order. `local_block` is the number of an
/// index's block among its owner's blocks, and `phase` is the position in that block; both are UPC's words. A
/// rank has `blocks(rank)` blocks, none of them empty; `block_of(rank, local_block)` gives the indices of
/// one.
/// `over(extent, ranks)` is the same rule for another extent and number of ranks. A distribution with
/// conditions on these two also has `error_for(extent, ranks)`. It returns a std::optional<std::string>,
/// which is empty or says what is wrong.
/// `describe()` is the rule in text, for messages and files. `one_block` says whether each rank owns one
/// block at most.
/// Axiom: global_index(owner(i), local_index(i)) == i for every i in [0, extent), and the local indices of a
/// rank are 0, ..., local_size(rank) - 1. The distribution is thus a bijection.
/// UPC: the layout qualifier of a shared array; HPF: DISTRIBUTE.
template <class D>
concept distribution = std::regular<D> && requires(D const& d, std::size_t i, rank_t rank) {
  { d.extent() } noexcept -> std::same_as<std::size_t>;
  { d.ranks() } noexcept -> std::same_as<rank_t>;
  { d.owner(i) } noexcept -> std::same_as<rank_t>;
  { d.local_size(rank) } noexcept -> std::same_as<std::size_t>;
  { d.local_index(i) } noexcept -> std::same_as<std::size_t>;
  { d.global_index(rank, i) } noexcept -> std::same_as<std::size_t>;
  { d.phase(i) } noexcept -> std::same_as<std::size_t>;
  { d.local_block(i) } noexcept -> std::same_as<std::size_t>;
  { d.blocks(rank) } noexcept -> std::same_as<std::size_t>;
  { d.block_of(rank, i) } noexcept -> std::same_as<index_range>;
  { d.over(i, rank) } -> std::same_as<D>;
  { d.describe() } -> std::convertible_to<std::string>;
};

/// A distribution with at most one block per rank: a rank's indices are consecutive from `first(rank)` on,
/// and `first` ascends with the ranks.
template <class D>
concept contiguous_distribution = distribution<D> && D::one_block && requires(D const& d, rank_t rank) {
  { d.first(rank) } noexcept -> std::same_as<std::size_t>;
};

/// The indices that a rank owns, as a forward range in the order of memory: `for (std::size_t i :
/// owned_indices(d, rank))`. Iteration needs no division.
template <distribution D>
class owned_indices {
 public:
  class iterator {
   public:
    using value_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = void;
    using reference = std::size_t;

    constexpr iterator() = default;
    constexpr iterator(D const& d, rank_t rank, std::size_t local_block) noexcept
        : distribution_(&d), rank_(rank), local_block_(local_block) {
      enter();
    }

    constexpr std::size_t operator*() const noexcept { return block_.first + phase_; }
    /// The position of this index: its phase in the block, and the number of the block.
    [[nodiscard]] constexpr std::size_t phase() const noexcept { return phase_; }
    /// The number of the index's block among its owner's.
    [[nodiscard]] constexpr std::size_t local_block() const noexcept { return local_block_; }
    constexpr iterator& operator++() noexcept {
      if (++phase_ == block_.count) {
        phase_ = 0;
        ++local_block_;
        enter();
      }
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      auto old = *this;
      ++*this;
      return old;
    }
    friend constexpr bool operator==(iterator const& a, iterator const& b) noexcept {
      return a.local_block_ == b.local_block_ && a.phase_ == b.phase_;
    }

   private:
    constexpr void enter() noexcept {
      block_ = local_block_ < distribution_->blocks(rank_) ? distribution_->block_of(rank_, local_block_)
                                                           : index_range{};
    }

    D const* distribution_ = nullptr;
    rank_t rank_ = 0;
    std::size_t local_block_ = 0;
    std::size_t phase_ = 0;
    index_range block_;
  };

  /// The indices that `rank` owns.
  constexpr owned_indices(D const& d, rank_t rank) : distribution_(d), rank_(rank) {}

  /// The number of indices.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return distribution_.local_size(rank_); }
  /// Returns whether the rank owns no index.
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  /// Iterators are valid as long as the range.
  [[nodiscard]] constexpr iterator begin() const noexcept { return {distribution_, rank_, 0}; }
  /// The end of the indices.
  [[nodiscard]] constexpr iterator end() const noexcept {
    return {distribution_, rank_, distribution_.blocks(rank_)};
  }

 private:
  D distribution_;
  rank_t rank_;
};

}  // namespace PGAS_NAMESPACE
