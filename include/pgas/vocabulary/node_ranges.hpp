// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// The nodes of a team, each with consecutive ranks. The first rank of a node is its leader. Memory: a number
/// for each node.
class node_ranges {
 public:
  /// `leaders`: ascending, of a team of so many ranks.
  node_ranges(std::vector<rank_t> leaders, rank_t ranks) : leaders_(std::move(leaders)), ranks_(ranks) {}

  /// From the first rank of each rank's node. If the ranks of some node are not consecutive, each rank counts
  /// as a node.
  static node_ranges of(std::vector<rank_t> leader_of) {
    auto const ranks = static_cast<rank_t>(leader_of.size());
    if (std::is_sorted(leader_of.begin(), leader_of.end())) {
      leader_of.erase(std::unique(leader_of.begin(), leader_of.end()), leader_of.end());
    } else {
      for (rank_t rank = 0; rank < ranks; ++rank) leader_of[static_cast<std::size_t>(rank)] = rank;
    }
    return {std::move(leader_of), ranks};
  }

  /// The number of ranks of the team.
  [[nodiscard]] rank_t ranks() const noexcept { return ranks_; }
  /// The number of nodes.
  [[nodiscard]] rank_t count() const noexcept { return static_cast<rank_t>(leaders_.size()); }
  /// The first rank of each node, ascending.
  [[nodiscard]] std::vector<rank_t> const& leaders() const noexcept { return leaders_; }
  /// The first rank of a node.
  [[nodiscard]] rank_t first(rank_t node) const noexcept { return leaders_[static_cast<std::size_t>(node)]; }
  /// The rank after the last one of a node.
  [[nodiscard]] rank_t end(rank_t node) const noexcept {
    return node + 1 < count() ? first(node + 1) : ranks_;
  }
  /// The number of ranks of a node.
  [[nodiscard]] rank_t size(rank_t node) const noexcept { return end(node) - first(node); }
  /// The node of a rank.
  [[nodiscard]] rank_t node_of(rank_t rank) const noexcept {
    return static_cast<rank_t>(std::upper_bound(leaders_.begin(), leaders_.end(), rank) - leaders_.begin()) -
           1;
  }
  /// Whether there are several nodes, and some of them have several ranks.
  [[nodiscard]] bool form_levels() const noexcept { return count() > 1 && count() < ranks_; }

 private:
  std::vector<rank_t> leaders_;
  rank_t ranks_;
};

}  // namespace PGAS_NAMESPACE
