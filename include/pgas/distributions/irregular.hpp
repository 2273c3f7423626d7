// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <pgas/concepts/distribution.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// Contiguous blocks of given sizes, one per rank, in rank order: `irregular{5, 0, 12}`.
///
/// All copies share one table of first indices, of O(ranks) memory. owner() searches it in O(log ranks) time.
/// Global Arrays: NGA_Create_irreg; PETSc: the ownership ranges of a Vec.
class irregular {
 public:
  static constexpr bool one_block = true;

  irregular() : irregular({std::size_t{0}}) {}
  /// One block for each rank, of these sizes.
  irregular(std::initializer_list<std::size_t> sizes) : irregular(std::vector<std::size_t>(sizes)) {}
  explicit irregular(std::vector<std::size_t> sizes) {
    std::size_t next = 0;
    for (std::size_t& size : sizes) next += std::exchange(size, next);
    sizes.push_back(next);
    firsts_ = std::make_shared<std::vector<std::size_t> const>(std::move(sizes));
  }
  /// Returns the same distribution, because the table determines both extent and ranks.
  [[nodiscard]] irregular over(std::size_t, rank_t) const noexcept { return *this; }
  [[nodiscard]] std::optional<std::string> error_for(std::size_t extent, rank_t ranks) const {
    if (extent == this->extent() && ranks == this->ranks() &&
        std::is_sorted(firsts_->begin(), firsts_->end()))
      return std::nullopt;
    return "the sizes of " + std::to_string(this->ranks()) + " blocks are given, " +
           std::to_string(this->extent()) + " indices together, for " + std::to_string(extent) +
           " indices on " + std::to_string(ranks) + " ranks; give one size for each rank";
  }
  [[nodiscard]] std::string describe() const {
    std::string sizes;
    for (rank_t r = 0; r < ranks(); ++r)
      sizes += (r == 0 ? "" : ", ") + std::to_string(static_cast<std::ptrdiff_t>(local_size(r)));
    return "irregular(" + sizes + ")";
  }

  [[nodiscard]] std::size_t extent() const noexcept { return firsts_->back(); }
  [[nodiscard]] rank_t ranks() const noexcept { return static_cast<rank_t>(firsts_->size() - 1); }

  [[nodiscard]] rank_t owner(std::size_t i) const noexcept {
    // The owner has the last block that begins at or before i; other blocks that begin there are empty.
    auto const after = std::upper_bound(firsts_->begin(), firsts_->end(), i);
    return static_cast<rank_t>(after - firsts_->begin() - 1);
  }
  [[nodiscard]] std::size_t local_size(rank_t rank) const noexcept { return first(rank + 1) - first(rank); }
  [[nodiscard]] std::size_t first(rank_t rank) const noexcept {
    return (*firsts_)[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t local_index(std::size_t i) const noexcept { return i - first(owner(i)); }
  [[nodiscard]] std::size_t global_index(rank_t rank, std::size_t i) const noexcept {
    return first(rank) + i;
  }

  [[nodiscard]] std::size_t phase(std::size_t i) const noexcept { return local_index(i); }
  [[nodiscard]] std::size_t local_block(std::size_t) const noexcept { return 0; }
  [[nodiscard]] std::size_t blocks(rank_t rank) const noexcept { return local_size(rank) == 0 ? 0 : 1; }
  [[nodiscard]] index_range block_of(rank_t rank, std::size_t) const noexcept {
    return {first(rank), local_size(rank)};
  }

  friend bool operator==(irregular const& a, irregular const& b) { return *a.firsts_ == *b.firsts_; }

 private:
  std::shared_ptr<std::vector<std::size_t> const> firsts_;
};
static_assert(contiguous_distribution<irregular>);

}  // namespace PGAS_NAMESPACE
