// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The first element of a part if a view has announced that it modifies single elements there, else null. A
/// copy of the view has to announce so itself. An operation loads the address anyway, so a null address takes
/// the place of a flag.
template <class T>
class announced_elements {
 public:
  announced_elements() = default;
  announced_elements(announced_elements const& /*other*/) noexcept {}
  announced_elements& operator=(announced_elements const& other) noexcept {
    if (this != &other) first_ = nullptr;
    return *this;
  }
  ~announced_elements() = default;

  /// The first element; null if nothing is announced.
  [[nodiscard]] T* first() const noexcept { return first_; }
  void announce(T* first) noexcept { first_ = first; }
  void withdraw() noexcept { first_ = nullptr; }

 private:
  T* first_ = nullptr;
};

/// Knows whether one view has announced that single elements are modified through it. A copy of the view has
/// to announce so itself.
class mode_memory {
 public:
  mode_memory() = default;
  mode_memory(mode_memory const& other) noexcept { *this = other; }
  mode_memory& operator=(mode_memory const& other) noexcept {
    value_ = other.value_ == disabled ? disabled : clear;
    return *this;
  }
  ~mode_memory() = default;

  /// Makes this memory remember nothing, for a view that lives for one access.
  void disable() noexcept { value_ = disabled; }
  [[nodiscard]] bool is_set() const noexcept { return value_ == announced; }
  /// Returns false if this memory never remembers.
  bool set() noexcept {
    if (value_ == disabled) return false;
    value_ = announced;
    return true;
  }
  void reset() noexcept { value_ = clear; }

 private:
  enum : unsigned char { clear, announced, disabled } value_ = clear;
};

/// The way in which this rank modifies elements of each part: many under a lock, in vector registers, or one
/// by one without a lock. For elements that one instruction can modify.
///
/// A rank that modifies single elements of a part announces that once. It withdraws when its epoch ends, or
/// before it combines many itself. After a lock of one part it withdraws only if a rank has asked for the
/// part. A rank that combines many holds the part alone if no rank has announced itself. Otherwise it asks
/// for the part, and modifies elements one by one for now. So a program that accumulates only blocks runs at
/// the memory's speed. A program that modifies only single elements pays for one announcement an epoch, and
/// under locks of one part for one in all. A program that does both withdraws at each end once it was asked.
/// A rank that has locked a part and ends no epoch afterwards keeps others from combining there.
///
/// Words     a cell of the part. Bit 0: a rank combines many. Bit 1: a rank asks for the part in order to
///           combine many. Above them: the number of ranks that modify one by one.
/// States    A rank that combines many changes 0, or the asking bit alone, to held, and subtracts held
///           afterwards. A rank that modifies one by one adds itself in any state, then waits until bit 0 is
///           clear. No rank sets bit 0 again before the count is 0. So a rank that stays announced from one
///           epoch to the next need not look. The asking bit is a hint: the next rank that holds the part
///           clears it.
/// Source    ours. In MPI the program says so by an info key, acc_single_intrinsic in MPICH and in Open MPI.
///           Here it says nothing, and may do both.
/// Memory    1 cell a rank; private, 4 bytes for each part as soon as single elements are modified.
/// Far ranks A rank that reaches the part by transfers announces itself as a near one does, since the words
/// work between all ranks. Its operations have happened at the part when it withdraws.
/// Counts    the views that have announced themselves, in `bits` bits. A loop may make more of them in one
///           epoch. A count at its maximum stays there, and this rank then modifies that part one by one
///           until the epoch ends.
template <control Control, unsigned bits = 31>
class bulk_accumulate_lock {
 public:
  using memory_type = mode_memory;

  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  bulk_accumulate_lock(Control& control, control_words first) : control_(&control), first_(first.cells) {}

  /// Call it before a single element of the part is modified. Returns when no rank combines many; none will
  /// until `withdraw`. A view that remembers the call is counted until `end_view`.
  void announce(rank_t target, bool remembers) {
    entry& mine = entry_of(target);
    if (!mine.announced) {
      auto const scope = as_element();
      announce(target, mine);
    }
    if (remembers && mine.users != most) ++mine.users;
  }
  void end_view(rank_t target) noexcept {
    if (entry& mine = entry_of(target); mine.users != most) --mine.users;
  }

  /// Calls combine(), which throws only if the job has failed, while no other rank modifies elements of the
  /// part. Returns false, without the call, if other ranks modify single elements; then this rank may do so,
  /// too.
  template <class Combine>
  [[nodiscard]] bool many_at_once(rank_t target, Combine&& combine) {
    auto const scope = as_element();
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
    // release: pairs with the acquire in take or announce of the next rank. Not a store: others may have
    // added themselves, or asked.
    add(cell(target), word{0} - held, std::memory_order_release);
    return true;
  }

  /// Call it when an epoch ends and its views are gone: withdraws from this part.
  void withdraw(rank_t target) {
    if (entries_.empty()) return;
    entry& mine = entry_of(target);
    if (!mine.announced) return;
    mine.users = 0;
    auto const scope = as_element();
    withdraw(target, mine);
  }
  /// Call it when a lock of this part ends and its views are gone: withdraws if a rank has asked for the
  /// part. Otherwise this rank stays announced for the next lock of the part.
  [[gnu::always_inline]] void withdraw_if_asked(rank_t target) {
    if (announced_ != 0) withdraw_announced_if_asked(target);
  }
  [[gnu::always_inline]] void withdraw_all() {
    if (announced_ != 0) withdraw_announced();
  }

 private:
  struct entry {
    std::uint32_t announced : 1 = 0;
    std::uint32_t users : bits = 0;
  };
  static constexpr std::uint32_t most = (std::uint32_t{1} << bits) - 1;
  static constexpr word held = 1;
  static constexpr word asked = 2;
  static constexpr word one_rank = 4;

  /// The cells order operations on elements, and no other accesses of the program.
  [[nodiscard]] auto as_element() const { return order_as(*control_, order_scope::element); }
  auto cell(rank_t target) { return control_->cell(target, first_); }
  entry& entry_of(rank_t target) {
    if (entries_.empty()) entries_ = plain_list<entry>(static_cast<std::size_t>(control_->size()));
    return entries_[static_cast<std::size_t>(target)];
  }

  // Out of line: in an epoch of a rank that modifies no elements, one number is tested.
  void withdraw_announced_if_asked(rank_t target) {
    entry& mine = entries_[static_cast<std::size_t>(target)];
    if (!mine.announced) return;
    mine.users = 0;
    auto const scope = as_element();
    // relaxed: a hint. A rank that overlooks it withdraws at the end of a later epoch.
    if ((cell(target).load(std::memory_order_relaxed) & asked) != 0) withdraw(target, mine);
  }
  void withdraw_announced() {
    for (rank_t target = 0; target < control_->size(); ++target) withdraw(target);
  }

  void announce(rank_t target, entry& mine) {
    mine.announced = 1;
    ++announced_;
    // acquire: pairs with the release of the rank that combined many before.
    if ((cell(target).fetch_add(one_rank, std::memory_order_acquire) & held) != 0) wait_until_free(target);
  }
  void withdraw(rank_t target, entry& mine) {
    mine.announced = 0;
    --announced_;
    // release: pairs with the acquire in take; publishes this rank's modifications.
    add(cell(target), word{0} - one_rank, std::memory_order_release);
  }
  /// Returns whether this rank now holds the part alone. If not, other ranks modify one by one, and are asked
  /// to withdraw.
  [[nodiscard]] bool take(rank_t target) {
    for (;;) {
      word seen = 0;
      // acquire: pairs with the release of the last holder, and of ranks that modified one by one.
      if (cell(target).compare_exchange(seen, held, std::memory_order_acquire)) return true;
      // acquire: as above.
      if (seen == asked && cell(target).compare_exchange(seen, held, std::memory_order_acquire)) return true;
      if (seen >= one_rank) {
        // relaxed: a hint. If the cell has changed meanwhile, the next rank that is turned away asks.
        if ((seen & asked) == 0) cell(target).compare_exchange(seen, seen + asked, std::memory_order_relaxed);
        return false;
      }
      if ((seen & held) != 0) wait_until_free(target);
    }
  }
  void wait_until_free(rank_t target) {
    control_->wait_until(cell(target), [](word now) { return (now & held) == 0; },
                         {.operation = "accumulate"});
  }

  Control* control_;
  std::size_t first_;
  plain_list<entry> entries_;  ///< empty until this rank modifies single elements
  std::size_t announced_ = 0;  ///< the number of parts this rank has announced itself to
};

/// The modes of elements that no instruction can modify: there is nothing to choose.
struct no_element_modes {
  struct memory_type {
    static constexpr void disable() noexcept {}
  };

  no_element_modes(auto& /*control*/, control_words /*first*/) noexcept {}
  static void withdraw(rank_t) noexcept {}
  static void withdraw_if_asked(rank_t) noexcept {}
  static void withdraw_all() noexcept {}
};

}  // namespace PGAS_NAMESPACE::detail
