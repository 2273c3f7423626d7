// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A set of ranks among n. Inserting and erasing take a load, a store and a count.
class rank_set {
 public:
  explicit rank_set(rank_t ranks) : has_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The n of the set.
  [[nodiscard]] rank_t ranks() const noexcept { return static_cast<rank_t>(has_.size()); }
  [[nodiscard]] bool contains(rank_t rank) const noexcept {
    return has_[static_cast<std::size_t>(rank)] != 0;
  }
  /// Requires that the rank is not in the set.
  void insert(rank_t rank) noexcept {
    has_[static_cast<std::size_t>(rank)] = 1;
    ++count_;
  }
  /// Requires that the rank is in the set.
  void erase(rank_t rank) noexcept {
    has_[static_cast<std::size_t>(rank)] = 0;
    --count_;
  }

 private:
  plain_list<unsigned char> has_;
  std::size_t count_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
