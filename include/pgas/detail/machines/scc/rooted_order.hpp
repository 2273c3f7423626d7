// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/rooted_control.hpp>
#include <pgas/detail/machines/scc/checker.hpp>
#include <unordered_map>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The knowledge of roots at their calls of a team's broadcasts and scatters, until all other ranks have it.
class root_clocks {
 public:
  explicit root_clocks(rank_t ranks) : begun_(static_cast<std::size_t>(ranks)) {}

  /// The number of the rank's next call, the same on all ranks.
  std::uint64_t begin(rank_t rank) noexcept { return begun_[static_cast<std::size_t>(rank)]++; }
  void leave(std::uint64_t call, vector_clock const& clock) {
    if (begun_.size() > 1) left_[call] = {clock, begun_.size() - 1};
  }
  /// Adds the root's knowledge, if it has come.
  void take(std::uint64_t call, vector_clock& to) {
    auto const it = left_.find(call);
    if (it == left_.end()) return;
    join(to, it->second.clock);
    if (--it->second.readers == 0) left_.erase(it);
  }

 private:
  struct knowledge {
    vector_clock clock{};
    std::size_t readers = 0;  ///< that have not taken it
  };
  std::vector<std::uint64_t> begun_;
  std::unordered_map<std::uint64_t, knowledge> left_;
};

/// See rooted_control. Does nothing without an oracle.
class [[nodiscard]] rooted_order {
 public:
  /// `self` and `root` are numbers in the team.
  rooted_order(checker* oracle, rank_t core, root_clocks& roots, rank_t self, collective_order order,
               rank_t root)
      : oracle_(oracle), core_(core), roots_(&roots), order_(order), is_root_(self == root) {
    if (oracle_ == nullptr || !oracle_->rules().roots) return;
    before_ = oracle_->begin_collective(core_);
    if (order_ != collective_order::from_root) return;
    call_ = roots_->begin(self);
    if (is_root_) roots_->leave(call_, before_);
  }
  rooted_order(rooted_order const&) = delete;
  rooted_order& operator=(rooted_order const&) = delete;
  ~rooted_order() {
    bool const learns_all =
        order_ == collective_order::all || (order_ == collective_order::to_root && is_root_);
    if (oracle_ == nullptr || !oracle_->rules().roots || learns_all) return;
    if (order_ == collective_order::from_root && !is_root_) roots_->take(call_, before_);
    oracle_->end_collective(core_, before_);
  }

 private:
  checker* oracle_;
  rank_t core_;
  root_clocks* roots_;
  collective_order order_;
  bool is_root_;
  std::uint64_t call_ = 0;
  vector_clock before_{};  ///< what the program may rely on
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
