// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/elements/bakery_lock.hpp>
#include <pgas/detail/elements/exchange_lock.hpp>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
