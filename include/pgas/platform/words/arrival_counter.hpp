// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// How fences learn that all ranks have arrived: by one sum, to which each protocol adds in its own way.
///
/// Source: the centralized barrier, Mellor-Crummey and Scott 1991, figure 7.
///
/// Words     one cell, rank 0's: how many times any rank has arrived since the window was made.
/// States    before fence k (from 1) is over it lies in [(k - 1) n, k n); it only grows. A rank may arrive at
///           fence k + 1 while others have not yet seen the end of fence k, hence >= below.
/// Differs   from the paper's, which counts down and flips a sense: a sum that grows needs no reset.
/// Memory    one cell a rank, of which rank 0's is used; a list of ranks in private memory.
template <control Control>
class arrival_counter {
 public:
  arrival_counter(Control& control, std::size_t first_cell) : control_(&control), cell_(first_cell) {
    for (rank_t rank = 0; rank < control.size(); ++rank) {
      if (rank != control.rank()) others_.push_back(rank);
    }
  }

  /// add(sum) adds one to the cell and returns what it has made it. A release, which pairs with the acquire of
  /// whoever waits for the sum; and an acquire, for the rank that comes last and does not wait.
  template <boundary Boundary, class Add>
  void fence(Boundary& b, std::string_view operation, Add&& add) {
    b.publish(everyone);
    all_ += static_cast<word>(control_->size());
    auto const sum = control_->cell(0, cell_);
    if (add(sum) < all_)
      control_->wait_until(
          sum, [all = all_](word seen) { return seen >= all; }, why(operation));
    b.refresh(everyone);
  }

  /// What a wait in such a fence says: that it is for all others.
  [[nodiscard]] waiting_for why(std::string_view operation) const {
    return {.operation = operation, .awaited = others_};
  }

 private:
  Control* control_;
  std::size_t cell_;
  word all_ = 0;  ///< what the sum will be when every fence so far is over
  std::vector<rank_t> others_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
