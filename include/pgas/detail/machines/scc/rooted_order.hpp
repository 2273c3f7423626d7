// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/rooted_control.hpp>
#include <pgas/detail/checking/compared_calls.hpp>
#include <pgas/detail/checking/known_places.hpp>
#include <pgas/detail/checking/line_of_calls.hpp>
#include <pgas/detail/machines/scc/checker.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// The places at which the cores begin collectives, for the oracle's reports.
class collective_places {
 public:
  collective_places() : known_(*this) {}
  collective_places(collective_places const&) = delete;
  collective_places& operator=(collective_places const&) = delete;

  /// The number of the place with this frame, see known_places.
  [[nodiscard]] std::uint32_t at_frame(void* frame) { return known_.number_of(frame); }
  [[nodiscard]] std::uint32_t number_of(call_path const& where) {
    auto const [it, is_new] = numbers_.try_emplace(where.hash, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back(where);
    return it->second;
  }
  [[nodiscard]] std::string line_of(std::uint32_t number) const { return line_of_calls(all_[number].calls); }

 private:
  std::vector<call_path> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  known_places<collective_places> known_;
};

/// The latest calls of collectives on one team of the chip, see compared_calls. The memory is made at the
/// first call.
class call_records {
 public:
  [[nodiscard]] compared_calls of(rank_t ranks) {
    if (memory_.empty()) memory_.resize((compared_calls::bytes(ranks) + sizeof(word) - 1) / sizeof(word));
    return {reinterpret_cast<std::byte*>(memory_.data()), ranks};
  }

 private:
  std::vector<word> memory_;
};

/// The knowledge of roots at their calls of a team's broadcasts and scatters, until all other ranks have it.
class root_clocks {
 public:
  explicit root_clocks(rank_t ranks) : begun_(static_cast<std::size_t>(ranks)) {}

  /// The number of the rank's next call, the same on all ranks.
  std::uint64_t begin(rank_t rank) noexcept { return begun_[static_cast<std::size_t>(rank)]++; }
  void leave(std::uint64_t call, vector_clock const& clock) {
    if (begun_.size() > 1) left_[call] = {clock, begun_.size() - 1};
  }
  /// Adds the root's knowledge, if it is there.
  void take(std::uint64_t call, vector_clock& to) {
    auto const it = left_.find(call);
    if (it == left_.end()) return;
    join(to, it->second.clock);
    if (--it->second.readers == 0) left_.erase(it);
  }

 private:
  struct knowledge {
    vector_clock clock{};
    std::size_t readers = 0;  ///< ranks that have not acquired it
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

}  // namespace PGAS_NAMESPACE::detail::scc
