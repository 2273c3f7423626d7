// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/control.hpp>
#include <type_traits>

/// What guards elements that no single instruction can modify, while they are read, modified and written. A lock is
/// held by the object, for one short operation and never two at a time.
namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A cell for each rank's part, taken by an exchange.
template <control Control>
class exchange_lock {
 public:
  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  exchange_lock(Control& control, control_words first, rank_t target) : cell_(control.cell(target, first.cells)) {
    // acquire: pairs with the release in the destructor of the last holder.
    while (cell_.exchange(1, std::memory_order_acquire) != 0) {
      control.wait_until(cell_, [](word held) { return held == 0; }, {.operation = "accumulate"});
    }
  }
  exchange_lock(exchange_lock const&) = delete;
  exchange_lock& operator=(exchange_lock const&) = delete;
  ~exchange_lock() { cell_.exchange(0, std::memory_order_release); }

 private:
  decltype(std::declval<Control&>().cell(0, 0)) cell_;
};

/// Loads and stores only, for words without read-modify-write.
///
/// Source: the bakery, Lamport 1974. A rank takes a number greater than all it sees and waits for those with a smaller
/// one, or an equal one and a smaller rank.
///
/// Words     a slot of each rank, written by it only: 0 while it wants nothing, `choosing` while it looks for its
///           number, then twice the number.
/// Differs   from the paper, which says in two words that a rank chooses, and what it chose: in one word no third state
///           can be seen, and a rank waits once for each other, not twice. One lock guards all parts of a window and
///           not one each: that is one word a rank instead of n, where taking it looks at 2 n words either way.
/// Fair: who has a number is passed by no one who takes a later one. Chosen before mediation by the owner, since
/// passive target requires that an owner takes no part.
template <control Control>
class bakery_lock {
 public:
  static constexpr control_words words() noexcept { return {.slots = 1, .cells = 0}; }

  bakery_lock(Control& control, control_words first, rank_t /*target*/)
      : mine_(control.slot(control.rank(), first.slots, control.rank())) {
    rank_t const self = control.rank();
    auto const of = [&](rank_t rank) { return control.slot(rank, first.slots, rank); };
    // seq_cst, here and below: of two ranks, the one whose first load does not see the other's word has stored its own
    // before the other loads it. Pairs with the same operations of every other rank.
    mine_.store(choosing, std::memory_order_seq_cst);
    word number = 0;
    for (rank_t rank = 0; rank < control.size(); ++rank) {
      if (rank != self) number = std::max(number, of(rank).load(std::memory_order_seq_cst) / 2);
    }
    ++number;
    mine_.store(2 * number, std::memory_order_seq_cst);
    for (rank_t rank = 0; rank < control.size(); ++rank) {
      if (rank == self) continue;
      auto const lets_pass = [=](word seen) {
        return seen == 0 || (seen != choosing && (seen / 2 > number || (seen / 2 == number && rank > self)));
      };
      // acquire, where it waits: pairs with the release in the destructor of that holder.
      if (!lets_pass(of(rank).load(std::memory_order_seq_cst)))
        control.wait_until(of(rank), lets_pass, {.operation = "accumulate", .awaited = group(&rank, 1)});
    }
  }
  bakery_lock(bakery_lock const&) = delete;
  bakery_lock& operator=(bakery_lock const&) = delete;
  ~bakery_lock() { mine_.store(0, std::memory_order_release); }

 private:
  static constexpr word choosing = 1;

  decltype(std::declval<Control&>().slot(0, 0, 0)) mine_;
};

/// The one that a backend's words can carry.
template <control Control>
using element_lock_on =
    std::conditional_t<Control::read_modify_write == rmw::none, bakery_lock<Control>, exchange_lock<Control>>;

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
