// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE::detail {

/// All ranks of a team, for a shared area.
template <class Control>
class whole_team {
 public:
  explicit whole_team(Control const& control) noexcept : control_(&control) {}
  [[nodiscard]] rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] static rank_t in_team(rank_t rank) noexcept { return rank; }

 private:
  Control const* control_;
};

/// The ranks of one node, which count as 0, 1, ... on its shared areas.
class ranks_of_node {
 public:
  ranks_of_node(rank_t first, rank_t end, rank_t self) noexcept
      : first_(first), size_(end - first), rank_(self - first) {}
  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }
  [[nodiscard]] rank_t in_team(rank_t rank) const noexcept { return first_ + rank; }

 private:
  rank_t first_;
  rank_t size_;
  rank_t rank_;
};

}  // namespace PGAS_NAMESPACE::detail
