// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::cluster {

/// The memory of this rank that other nodes reach: each part or share of words under the number that all
/// ranks of its team know.
class homes {
 public:
  void add(std::uint64_t number, std::byte* first, std::uint64_t bytes) { known_[number] = {first, bytes}; }
  void remove(std::uint64_t number) {
    if (last_ == number) last_ = none;
    known_.erase(number);
  }

  /// The address of `bytes` bytes at `offset`, or null if the memory is unknown or ends before.
  [[nodiscard]] std::byte* find(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (number != last_) {
      auto const found = known_.find(number);
      if (found == known_.end()) return nullptr;
      last_ = number;
      last_home_ = found->second;
    }
    if (offset > last_home_.bytes || bytes > last_home_.bytes - offset) return nullptr;
    return last_home_.first + offset;
  }

 private:
  struct home {
    std::byte* first = nullptr;
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint64_t none = 0;

  std::unordered_map<std::uint64_t, home> known_;
  std::uint64_t last_ = none;  ///< the number of the memory that was reached last
  home last_home_;
};

/// The ranks of a team that share this rank's node, as numbers in the team. Launchers place neighbours on a
/// node, so they are usually a range.
class near_ranks {
 public:
  /// `all`: in ascending order.
  explicit near_ranks(std::vector<rank_t> all)
      : first_(all.front()), count_(static_cast<rank_t>(all.size())) {
    if (all.back() - first_ + 1 != count_) scattered_ = std::move(all);
  }

  [[nodiscard]] rank_t count() const noexcept { return count_; }
  /// The number of a rank among these, or -1 if it is on another node.
  [[nodiscard]] rank_t index_of(rank_t rank) const noexcept {
    if (scattered_.empty()) [[likely]] {
      rank_t const index = rank - first_;
      return static_cast<unsigned>(index) < static_cast<unsigned>(count_) ? index : -1;
    }
    auto const at = std::lower_bound(scattered_.begin(), scattered_.end(), rank);
    return at != scattered_.end() && *at == rank ? static_cast<rank_t>(at - scattered_.begin()) : -1;
  }
  [[nodiscard]] rank_t operator[](rank_t index) const noexcept {
    return scattered_.empty() ? first_ + index : scattered_[static_cast<std::size_t>(index)];
  }

 private:
  rank_t first_;
  rank_t count_;
  std::vector<rank_t> scattered_;  ///< all of them, if they are no range
};

}  // namespace PGAS_NAMESPACE::detail::cluster
