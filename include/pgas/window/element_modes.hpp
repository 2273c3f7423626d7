// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Whether one view has said that single elements are modified through it. A copy has to say so by itself.
class mode_memory {
 public:
  mode_memory() = default;
  mode_memory(mode_memory const& other) noexcept { *this = other; }
  mode_memory& operator=(mode_memory const& other) noexcept {
    value_ = other.value_ == never_said ? never_said : not_said;
    return *this;
  }
  ~mode_memory() = default;

  /// For a view that goes after one access: to remember is not worth while.
  void never() noexcept { value_ = never_said; }
  [[nodiscard]] bool is_set() const noexcept { return value_ == said; }
  /// False if it does not remember.
  bool set() noexcept {
    if (value_ == never_said) return false;
    value_ = said;
    return true;
  }
  void reset() noexcept { value_ = not_said; }

 private:
  enum : unsigned char { not_said, said, never_said } value_ = not_said;
};

/// How this rank modifies elements, of each part, where one instruction can modify one: many at a time under a lock,
/// which is what vector registers need, or one by one without a lock.
///
/// A rank that modifies single elements of a part says so once, and takes it back when its epoch ends or before it
/// combines many itself. Who combines many holds the part alone, if nobody modifies single elements of it; else it goes
/// one by one, too. So who accumulates blocks only has them at the memory's speed, who counts in single elements pays
/// for no lock but once an epoch, and who does both loses nothing.
///
/// Words     a cell of the part: bit 0, held by who combines many; above it, how many ranks go one by one.
/// States    0 to held and back, by whoever combines many. A rank that wants to go one by one adds itself in any state
///           and then waits until bit 0 is gone: nobody sets it again before the count is 0.
/// Source    ours. MPI asks the program by an info key, acc_single_intrinsic in MPICH and in Open MPI; here nobody has
///           to say it, and nothing is lost if a program does both.
/// Memory    1 cell a rank; private, 4 bytes for each part as soon as single elements are modified.
/// Counts    users in `bits`. A loop can make more of them in one epoch: a count that has come to its end stays there,
///           whoever goes, and this rank modifies elements of that part one by one until the epoch ends.
template <control Control, unsigned bits = 31>
class element_modes {
 public:
  using memory_type = mode_memory;

  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  element_modes(Control& control, control_words first) : control_(&control), first_(first.cells) {}

  /// Before a single element of the part is modified: returns when nobody combines many, and nobody will until `leave`.
  /// A user that remembers that it has come counts, until it goes.
  void come(rank_t target, bool remembers) {
    entry& mine = entry_of(target);
    if (!mine.announced) announce(target, mine);
    if (remembers && mine.users != most) ++mine.users;
  }
  void go(rank_t target) noexcept {
    if (entry& mine = entry_of(target); mine.users != most) --mine.users;
  }

  /// Calls combine() while nobody else modifies elements of the part; false, without a call, where others modify single
  /// elements: then this rank may as well. combine() does not throw.
  template <class Combine>
  [[nodiscard]] bool many_at_once(rank_t target, Combine&& combine) {
    if (!entries_.empty()) {
      entry& mine = entry_of(target);
      if (mine.users != 0) return false;
      if (mine.announced) withdraw(target, mine);
    }
    if (!take(target)) {
      announce(target, entry_of(target));
      return false;
    }
    combine();
    // release: pairs with the acquire in take or announce of whoever comes next. Not a store: others may have added.
    cell(target).fetch_add(word{0} - held, std::memory_order_release);
    return true;
  }

  /// When an epoch ends: nobody remembers that it has come to this part, or to any.
  void leave(rank_t target) {
    if (entries_.empty()) return;
    entry& mine = entry_of(target);
    if (!mine.announced) return;
    mine.users = 0;
    withdraw(target, mine);
  }
  void leave_all() {
    if (announced_ == 0) return;
    for (rank_t target = 0; target < control_->size(); ++target) leave(target);
  }

 private:
  struct entry {
    std::uint32_t announced : 1 = 0;
    std::uint32_t users : bits = 0;
  };
  static constexpr std::uint32_t most = (std::uint32_t{1} << bits) - 1;
  static constexpr word held = 1;
  static constexpr word one_rank = 2;

  auto cell(rank_t target) { return control_->cell(target, first_); }
  entry& entry_of(rank_t target) {
    if (entries_.empty()) entries_.resize(static_cast<std::size_t>(control_->size()));
    return entries_[static_cast<std::size_t>(target)];
  }

  void announce(rank_t target, entry& mine) {
    mine.announced = 1;
    ++announced_;
    // acquire: pairs with the release of whoever combined many before.
    if ((cell(target).fetch_add(one_rank, std::memory_order_acquire) & held) != 0) wait_until_free(target);
  }
  void withdraw(rank_t target, entry& mine) {
    mine.announced = 0;
    --announced_;
    // release: pairs with the acquire in take; carries what this rank has modified.
    cell(target).fetch_add(word{0} - one_rank, std::memory_order_release);
  }
  /// True: this rank holds the part. False: others go one by one.
  [[nodiscard]] bool take(rank_t target) {
    for (;;) {
      word seen = 0;
      // acquire: pairs with the release of whoever held it before, and of those who went one by one.
      if (cell(target).compare_exchange(seen, held, std::memory_order_acquire)) return true;
      if (seen >= one_rank) return false;
      wait_until_free(target);
    }
  }
  void wait_until_free(rank_t target) {
    control_->wait_until(cell(target), [](word now) { return (now & held) == 0; }, {.operation = "accumulate"});
  }

  Control* control_;
  std::size_t first_;
  std::vector<entry> entries_;  ///< empty until this rank modifies single elements
  std::size_t announced_ = 0;   ///< how many parts have been told
};

/// The same where no instruction can modify an element: there is nothing to choose.
struct no_element_modes {
  struct memory_type {
    static constexpr void never() noexcept {}
  };

  no_element_modes(auto& /*control*/, control_words /*first*/) noexcept {}
  static void leave(rank_t) noexcept {}
  static void leave_all() noexcept {}
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
