// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <pgas/concepts/control.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// Tells every rank the least of all ranks' words, for up to `Width` words at once, in ceil(log2 n) rounds.
///
/// Source    dissemination (Hensgen, Finkel and Manber 1988) with words that travel along. In round k rank r
///           writes what it knows to r + 2^k and waits for r - 2^k. Ranks may be counted twice, which changes
///           no minimum.
/// Words     for each round `Width` values and a number in the memory of rank r, written by r - 2^k only:
///           what that rank knows, and the call it belongs to.
/// Requires  that all ranks pass a barrier between two calls, so that no rank writes values that another has
///           still to read.
/// Memory    (Width + 1) ceil(log2 n) slots a rank.
/// Costs     each rank stores to, waits for and reads ceil(log2 n) numbers with their values; no rank reads
///           another's memory.
template <control Control, std::size_t Width>
class least_words {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))) * (Width + 1),
            .cells = 0};
  }

  least_words(Control& control, control_words first) : control_(&control), first_(first.slots) {}

  /// Replaces each value by the least of all ranks' values in its place. Requires at most Width of them.
  void operator()(std::span<word> values, std::string_view operation) {
    ++calls_;
    rank_t const self = control_->rank();
    rank_t const size = control_->size();
    std::size_t at = first_;
    for (rank_t distance = 1; distance < size; distance *= 2, at += Width + 1) {
      rank_t const to = self + distance < size ? self + distance : self + distance - size;
      rank_t const from = self < distance ? self - distance + size : self - distance;
      // relaxed: the release below carries them.
      for (std::size_t i = 0; i < values.size(); ++i)
        control_->slot(to, at + i, self).store(values[i], std::memory_order_relaxed);
      // release: pairs with the acquire load of wait_until in `to`; carries the values above.
      control_->slot(to, at + Width, self).store(calls_, std::memory_order_release);
      control_->wait_until(control_->slot(self, at + Width, from),
                           [call = calls_](word seen) { return seen == call; },
                           {.operation = operation, .awaited = group(&from, 1)});
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::min(values[i], control_->slot(self, at + i, from).load(std::memory_order_relaxed));
      }
    }
  }

 private:
  Control* control_;
  std::size_t first_;
  word calls_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
