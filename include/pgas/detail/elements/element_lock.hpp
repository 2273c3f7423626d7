// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/vocabulary/error.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A lock on one rank's part that the object holds for its life: a cell of that rank, taken by an exchange.
template <control Control>
class exchange_lock {
 public:
  static constexpr control_words words() noexcept { return {.slots = 0, .cells = 1}; }

  exchange_lock(Control& control, control_words first, rank_t target)
      : cell_(control.cell(target, first.cells)) {
    // acquire: pairs with the release in the destructor of the last holder.
    while (cell_.exchange(1, std::memory_order_acquire) != 0) {
      control.wait_until(cell_, [](word held) { return held == 0; }, {.operation = "accumulate"});
    }
  }
  exchange_lock(exchange_lock const&) = delete;
  exchange_lock& operator=(exchange_lock const&) = delete;
  ~exchange_lock() {
    try {
      cell_.exchange(0, std::memory_order_release);
    } catch (error const&) {
      // The job has failed, so no rank takes the lock after this one; this rank's next operation throws
      // again.
    }
  }

 private:
  decltype(std::declval<Control&>().cell(0, 0)) cell_;
};

/// A lock that the object holds for its life, made of loads and stores alone: for control words without
/// read-modify-write.
///
/// A rank takes a number greater than all it sees. It then waits for each rank with a smaller number, or with
/// an equal number and a smaller rank. The lock is fair: no rank with a later number passes one with an
/// earlier number.
///
/// Words     one slot a rank, written by that rank only: 0 while it wants nothing, `choosing` while it looks
///           for its number, then twice the number.
/// Source    the bakery, Lamport 1974.
/// Differs   from the paper, which uses two words, one for "this rank chooses" and one for its number. With
///           one word no third state can be seen, and a rank waits once for each other rank, not twice. One
///           lock guards all parts of a window, instead of one part each. The lock costs one word a rank
///           instead of n, and taking it reads 2 n words either way. It is preferred to mediation by the
///           owner, since passive target requires that an owner takes no part.
template <control Control>
class bakery_lock {
 public:
  static constexpr control_words words() noexcept { return {.slots = 1, .cells = 0}; }

  bakery_lock(Control& control, control_words first, rank_t /*target*/)
      : mine_(control.slot(control.rank(), first.slots, control.rank())) {
    rank_t const self = control.rank();
    auto const of = [&](rank_t rank) { return control.slot(rank, first.slots, rank); };
    // seq_cst, here and below: of two ranks, the one whose first load does not see the other's word has
    // stored its own before the other loads it. Pairs with the same operations of every other rank.
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
      // wait_until loads with acquire: pairs with the release in the destructor of that holder.
      if (!lets_pass(of(rank).load(std::memory_order_seq_cst)))
        control.wait_until(of(rank), lets_pass, {.operation = "accumulate", .awaited = group(&rank, 1)});
    }
  }
  bakery_lock(bakery_lock const&) = delete;
  bakery_lock& operator=(bakery_lock const&) = delete;
  ~bakery_lock() {
    try {
      mine_.store(0, std::memory_order_release);
    } catch (error const&) {
      // The job has failed, so no rank takes the lock after this one; this rank's next operation throws
      // again.
    }
  }

 private:
  static constexpr word choosing = 1;

  decltype(std::declval<Control&>().slot(0, 0, 0)) mine_;
};

/// The lock that a backend's control words can carry.
template <control Control>
using element_lock_on =
    std::conditional_t<Control::read_modify_write == rmw::none, bakery_lock<Control>, exchange_lock<Control>>;

/// Guards elements that no single instruction can modify, while this rank reads, modifies and writes them.
///
/// The object holds the lock for one short operation. A rank never holds two. The lock orders the operations
/// on elements, and no other accesses of the program.
template <class State>
class element_lock {
 public:
  element_lock(State& s, rank_t target)
      : scope_(order_as(s.control, order_scope::element)),
        lock_(s.control, State::lock_words(s.ranks()), target) {}

 private:
  using scope_type =
      decltype(order_as(std::declval<typename State::control_type const&>(), order_scope::element));

  scope_type scope_;
  typename State::element_lock_type lock_;  // declared last: its release has the scope, too
};

}  // namespace PGAS_NAMESPACE::detail
