// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The targets of a rank's transfers under way, in order. Memory grows with the targets, not with the ranks.
class target_list {
 public:
  /// Adds a target, if it is new. Costs a compare if it is that of the last transfer.
  void insert(rank_t target) {
    if (target == last_) return;
    last_ = target;
    auto const at = std::lower_bound(targets_.begin(), targets_.end(), target);
    if (at == targets_.end() || *at != target) targets_.insert(at, target);
  }
  [[nodiscard]] bool contains(rank_t target) const noexcept {
    return target == last_ || std::binary_search(targets_.begin(), targets_.end(), target);
  }
  /// Removes a target, and returns whether it was there.
  bool erase(rank_t target) noexcept {
    if (target == last_) last_ = none;
    auto const at = std::lower_bound(targets_.begin(), targets_.end(), target);
    if (at == targets_.end() || *at != target) return false;
    targets_.erase(at);
    return true;
  }
  [[nodiscard]] group all() const noexcept { return targets_; }
  void clear() noexcept {
    targets_.clear();
    last_ = none;
  }

 private:
  static constexpr rank_t none = -1;

  rank_t last_ = none;  ///< in the list, unless none
  std::vector<rank_t> targets_;
};

}  // namespace PGAS_NAMESPACE::detail
