// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Private memory as one block a rank, in rank order without gaps: of equal or of different sizes in bytes.
class block_sizes {
 public:
  block_sizes() = default;
  /// Blocks of equal size.
  explicit block_sizes(std::size_t each) noexcept : each_(each) {}
  /// Blocks of counts[r] elements of `element` bytes.
  block_sizes(std::span<std::size_t const> counts, std::size_t element) {
    firsts_.reserve(counts.size() + 1);
    firsts_.push_back(0);
    for (std::size_t const count : counts) firsts_.push_back(firsts_.back() + count * element);
  }

  [[nodiscard]] std::size_t first(rank_t r) const noexcept {
    auto const i = static_cast<std::size_t>(r);
    return firsts_.empty() ? i * each_ : firsts_[i];
  }
  [[nodiscard]] std::size_t size(rank_t r) const noexcept { return first(r + 1) - first(r); }
  /// The block of rank r in this memory.
  template <class Byte>
  [[nodiscard]] std::span<Byte> of(std::span<Byte> all, rank_t r) const noexcept {
    return all.subspan(first(r), size(r));
  }

 private:
  std::size_t each_ = 0;
  std::vector<std::size_t> firsts_;  ///< of each block and after the last; empty: equal sizes
};

}  // namespace PGAS_NAMESPACE::detail
