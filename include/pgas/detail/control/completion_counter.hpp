// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>

namespace PGAS_NAMESPACE::detail {

/// Post protocols learn from one sum at each target that all origins have completed.
///
/// Source: Christgau 2017, algorithm 2.
///
/// Words     one cell of the target; every origin adds one.
/// States    the number of completions at this target since the window was made.
/// Differs   from the paper, which sets eight bits to the size of the group and counts down. A running sum
///           needs no reset, so no completion can meet one, and it does not overflow.
/// Memory    one cell a rank, and a sum of private state.
template <control Control>
class completion_counter {
 public:
  static constexpr control_words words{.slots = 0, .cells = 1};

  completion_counter(Control& control, std::size_t first_cell) : control_(&control), cell_(first_cell) {}

  /// Announces that these origins will complete once more each.
  void expect(group origins) noexcept { expected_ += origins.size(); }

  template <boundary Boundary>
  void wait(group origins, Boundary& b) {
    control_->wait_until(of(control_->rank()), [expected = expected_](word sum) { return sum == expected; },
                         {.operation = "wait", .awaited = origins});
    b.refresh(origins);
  }
  template <boundary Boundary>
  [[nodiscard]] bool test(group origins, Boundary& b) {
    // acquire: pairs with the release in add.
    if (of(control_->rank()).load(std::memory_order_acquire) != expected_) return false;
    b.refresh(origins);
    return true;
  }

  /// Asks for the line that add(target) changes after the wait that comes now.
  void will_add(rank_t target) noexcept { will_change_after_wait(*control_, of(target)); }
  /// Asks for the lines that add changes for each of several targets, so that they come at once.
  void will_add(group targets) noexcept {
    if (targets.size() < 2) return;
    for (rank_t target : targets) will_change(of(target));
  }
  /// Tells `target` that this rank has completed.
  void add(rank_t target) {
    // release: pairs with the acquire load in wait and test of `target`; carries this rank's puts, which the
    // protocol has published. Only `target` waits for the sum.
    detail::add(unconfirmed(of(target)), 1, std::memory_order_release);
  }

 private:
  auto of(rank_t target) { return control_->cell(target, cell_); }

  Control* control_;
  std::size_t cell_;
  word expected_ = 0;  ///< the value of the counter when every exposure so far is over
};

}  // namespace PGAS_NAMESPACE::detail
