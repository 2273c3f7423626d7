// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The words that end the bias of `biased`, on cells. A rank enters by one read-modify-write of a word of its
/// own.
///
/// Words     gate, a cell of each rank: 4 times the number of lock_all epochs that the rank has opened under
///           the bias. Plus 1 once the bias has ended for the rank; in rank 0's plus 2 once it has ended for
///           all ranks.
///           left, a slot of each rank: the number of these epochs that the rank has closed.
/// States    A rank enters by changing its own gate from the number it knows to the next one. The change
///           fails once the bias has ended, since only the owner changes the number. Another rank ends the
///           bias by adding 1 to each gate. Then it waits until each rank has left as often as it had
///           entered.
template <control Control>
class bias_on_cells {
 public:
  static constexpr control_words words(rank_t) noexcept { return {.slots = 1, .cells = 1}; }

  bias_on_cells(Control& control, control_words first) : control_(&control), first_(first) {}

  [[nodiscard]] bool enter() {
    word seen = entered_ * one_epoch;
    // relaxed: no exclusive lock has been taken before an entry that succeeds; lock words order what follows
    // a failure.
    if (!gate(control_->rank()).compare_exchange(seen, seen + one_epoch, std::memory_order_relaxed))
      return false;
    ++entered_;
    return true;
  }
  void leave() {
    // release: pairs with the acquire in the wait of the rank that ends the bias; carries the accesses that
    // publish has completed.
    left(control_->rank()).store(entered_, std::memory_order_release);
  }

  /// Lets no rank enter any more, and calls `wait(left, epochs, rank)` for each rank, which returns once the
  /// slot `left` holds `epochs`. Returns false as soon as a wait returns false.
  template <class Wait>
  [[nodiscard]] bool end(Wait const& wait) {
    // acquire: pairs with the release below of the rank that has ended the bias for all.
    if ((gate(0).load(std::memory_order_acquire) & ended_for_all) != 0) return true;
    for (rank_t rank = 0; rank < control_->size(); ++rank) {
      // relaxed: the gate gives the number of epochs to wait for, and the wait orders their accesses.
      word seen = gate(rank).load(std::memory_order_relaxed);
      while ((seen & ended) == 0 &&
             !gate(rank).compare_exchange(seen, seen + ended, std::memory_order_relaxed)) {}
    }
    for (rank_t rank = 0; rank < control_->size(); ++rank) {
      word const epochs = gate(rank).load(std::memory_order_relaxed) / one_epoch;
      if (!wait(left(rank), epochs, rank)) return false;
    }
    word seen = gate(0).load(std::memory_order_relaxed);
    // release: pairs with the acquire above; carries the accesses of the ranks that have left. If the change
    // fails, another rank has made the same one.
    if ((seen & ended_for_all) == 0)
      gate(0).compare_exchange(seen, seen + ended_for_all, std::memory_order_release);
    return true;
  }

 private:
  static constexpr word ended = 1;
  static constexpr word ended_for_all = 2;
  static constexpr word one_epoch = 4;

  auto gate(rank_t rank) { return control_->cell(rank, first_.cells); }
  auto left(rank_t rank) { return control_->slot(rank, first_.slots, rank); }

  Control* control_;
  control_words first_;
  word entered_ = 0;  ///< the number of epochs that this rank has opened under the bias
};

/// The words that end the bias on slots, for words without read-modify-write.
///
/// Words     inside, a slot of each rank: 1 while the rank is in a lock_all epoch under the bias, else 0.
///           ended, n slots of each rank: slot w is 1 once rank w has ended the bias.
/// Order     A rank that enters stores to `inside`, then looks at its n slots. A rank that ends the bias
///           stores to a slot of each rank, then looks at each rank's `inside`. One of two such ranks must
///           see the other's store, so all four accesses are seq_cst. A wait that follows such a look sees
///           that value or later ones.
template <control Control>
class bias_on_slots {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 1 + static_cast<std::size_t>(ranks), .cells = 0};
  }

  bias_on_slots(Control& control, control_words first) : control_(&control), first_(first.slots) {}

  [[nodiscard]] bool enter() {
    rank_t const self = control_->rank();
    inside(self).store(1, std::memory_order_seq_cst);
    for (rank_t other = 0; other < control_->size(); ++other) {
      if (ended(self, other).load(std::memory_order_seq_cst) == 0) continue;
      leave();
      return false;
    }
    return true;
  }
  void leave() {
    // release: pairs with the acquire of the rank that ends the bias, in `end` or its wait; carries the
    // accesses that publish has completed.
    inside(control_->rank()).store(0, std::memory_order_release);
  }

  template <class Wait>
  [[nodiscard]] bool end(Wait const& wait) {
    rank_t const self = control_->rank();
    for (rank_t rank = 0; rank < control_->size(); ++rank)
      ended(rank, self).store(1, std::memory_order_seq_cst);
    for (rank_t rank = 0; rank < control_->size(); ++rank) {
      if (inside(rank).load(std::memory_order_seq_cst) != 0 && !wait(inside(rank), 0, rank)) return false;
    }
    return true;
  }

 private:
  auto inside(rank_t rank) { return control_->slot(rank, first_, rank); }
  auto ended(rank_t rank, rank_t by) {
    return control_->slot(rank, first_ + 1 + static_cast<std::size_t>(by), by);
  }

  Control* control_;
  std::size_t first_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::sync {

/// This lock protocol has a lock_all that touches words of its own rank only, until a rank takes the first
/// exclusive lock.
///
/// Source: ours, after the reader bias of Dice and Kogan 2019 (BRAVO). There the bias comes back; here it
/// does not.
///
/// Words     those of `Lock`; and those of detail::bias_on_cells, or of detail::bias_on_slots if `Lock` needs
///           slots only.
/// States    The bias is towards lock_all. While the bias lasts, a lock_all epoch writes in an own word that
///           it is open, and holds all parts. The first exclusive lock on any part of the window ends the
///           bias for good: it tells all ranks, and waits for the lock_all epochs that are open. From then on
///           `Lock` does everything. Shared locks leave the bias as it is.
/// lock_all  under the bias one read-modify-write and one store, both of own words, for any number of ranks;
///           on slots two stores and n loads, of own words. An access costs as much as under a fence:
///           holds_all tells the epoch that no part needs to be taken. Afterwards as `Lock`.
/// Order     The read-modify-write is more than half the time of an empty epoch, and has to stay. A rank that
///           enters must make its store visible before it looks whether the bias has ended. Without that
///           order two ranks cannot exclude each other (Attiya et al. 2011, "Laws of order"). A window that
///           is never locked exclusively can use shared_only, which has no words.
/// Costs     The first exclusive lock of the window takes n read-modify-writes and 3 n loads; the first one
///           of each further rank one load of rank 0. On slots the first one of each rank takes n stores and
///           n loads.
/// try_lock  may end the bias even if it returns false.
/// Memory    beside that of `Lock` one slot and one cell a rank, or n + 1 slots.
template <target_lock_protocol Lock>
struct biased {
 private:
  static constexpr auto joined = detail::name_after<Lock>("biased_");
  template <control Control>
  using bias_on = std::conditional_t<Lock::needs == rmw::none, detail::bias_on_slots<Control>,
                                     detail::bias_on_cells<Control>>;

 public:
  static constexpr std::string_view name{joined.data(), joined.size()};
  static constexpr rmw needs = Lock::needs;
  static constexpr progress progress_by = detail::progress_of<Lock>();
  static constexpr control_words words(rank_t ranks) noexcept {
    return Lock::words(ranks) + bias_on<detail::control_archetype>::words(ranks);
  }

  template <control Control>
  class on : public Lock::template on<Control> {
    using base = typename Lock::template on<Control>;

   public:
    on(Control& control, control_words first)
        : base(control, first), control_(&control), bias_(control, first + Lock::words(control.size())) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      if (kind == lock_kind::exclusive && !has_ended_) [[unlikely]]
        end_bias(target);
      base::lock(target, kind, b);
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (kind == lock_kind::exclusive && !has_ended_ && !try_to_end_bias()) return false;
      return base::try_lock(target, kind, b);
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      if (may_last_) may_last_ = is_inside_ = bias_.enter();
      if (!is_inside_) [[unlikely]]
        return lock_all_unbiased(b);
      b.refresh(everyone);
    }
    /// Returns whether this rank's lock_all epoch is open under the bias, and so holds all parts.
    [[nodiscard]] bool holds_all() const noexcept { return is_inside_; }
    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b) {
      if (!is_inside_) [[unlikely]]
        base::trigger(target, b);
    }
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      if (!is_inside_) [[unlikely]]
        return unlock_all_unbiased(b);
      b.publish(everyone);
      is_inside_ = false;
      bias_.leave();
    }

   private:
    // These three are not inlined, so that compilers inline what remains of their callers into epochs.
    template <boundary Boundary>
    [[gnu::noinline]] void lock_all_unbiased(Boundary& b) {
      base::lock_all(b);
    }
    template <boundary Boundary>
    [[gnu::noinline]] void unlock_all_unbiased(Boundary& b) {
      base::unlock_all(b);
    }
    [[gnu::noinline]] void end_bias(rank_t target) {
      has_ended_ = bias_.end([this, target](auto const& left, word epochs, rank_t rank) {
        control_->wait_until(
            left, [epochs](word now) { return now == epochs; },
            {.operation = "lock", .awaited = group(&rank, 1), .acquires = target, .alone = true});
        return true;
      });
      may_last_ = false;
    }
    [[nodiscard]] bool try_to_end_bias() {
      may_last_ = false;
      // acquire: pairs with the release in leave.
      has_ended_ = bias_.end([](auto const& left, word epochs, rank_t) {
        return left.load(std::memory_order_acquire) == epochs;
      });
      return has_ended_;
    }

    Control* control_;
    bias_on<Control> bias_;
    bool may_last_ = true;    ///< this rank does not know that the bias has ended
    bool has_ended_ = false;  ///< this rank knows that the bias has ended for all ranks
    bool is_inside_ = false;  ///< this rank's lock_all epoch is open under the bias
  };
};

}  // namespace PGAS_NAMESPACE::sync
