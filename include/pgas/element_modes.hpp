// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/control.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// How the elements of a part are modified where one instruction can modify one: many at a time under a lock, which
/// is what vector registers need, or one by one without a lock.
///
/// Who first modifies a single element decides it for all, and for good: who accumulates blocks only has them at the
/// memory's speed, who counts in single elements pays for no lock, and who does both loses nothing.
///
/// Words     a cell of the part: free, held while somebody combines many, one_by_one.
/// States    free to held and back, by whoever combines many; held to one_by_one, once, by whoever wants to modify a
///           single element. So nobody combines many when the first single element is modified, and nobody will.
/// Source    ours. MPI asks the program by an info key, acc_single_intrinsic in MPICH and in Open MPI; here nobody has
///           to say it. That a state is left for good is what makes it cheap: who has seen it never looks again.
template <control Control>
class element_mode {
 public:
  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  element_mode(Control& control, control_words first, rank_t target)
      : control_(&control), cell_(control.cell(target, first.cells)) {}

  /// Calls combine() while nobody else modifies elements of the part; false, without a call, where they are modified
  /// one by one. combine() does not throw.
  template <class Combine>
  [[nodiscard]] bool many_at_once(Combine&& combine) const {
    if (!take()) return false;
    combine();
    // release: pairs with the acquire in take of whoever comes next.
    cell_.reset_unshared(free, std::memory_order_release);
    return true;
  }

  /// Returns when nobody combines many elements and nobody will.
  void choose_one_by_one() const {
    // release: pairs with the acquire in take of all who come after; carries what was combined before.
    if (take()) cell_.reset_unshared(one_by_one, std::memory_order_release);
  }

 private:
  static constexpr word free = 0;
  static constexpr word held = 1;
  static constexpr word one_by_one = 2;

  /// True: this rank holds the cell. False: nobody will hold it again.
  [[nodiscard]] bool take() const {
    for (;;) {
      word seen = free;
      // acquire, also where it fails: pairs with the release of whoever held the cell before.
      if (cell_.load(std::memory_order_acquire) == one_by_one) return false;
      if (cell_.compare_exchange(seen, held, std::memory_order_acquire)) return true;
      control_->wait_until(cell_, [](word now) { return now != held; }, {.operation = "accumulate"});
    }
  }

  Control* control_;
  decltype(std::declval<Control&>().cell(0, 0)) cell_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
