// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/window/bakery_lock.hpp>
#include <pgas/window/exchange_lock.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The lock that a backend's control words can carry.
template <control Control>
using element_lock_on =
    std::conditional_t<Control::read_modify_write == rmw::none, bakery_lock<Control>, exchange_lock<Control>>;

/// Guards elements that no single instruction can modify, while this rank reads, modifies and writes them.
///
/// The object holds the lock for one short operation. A rank never holds two.
template <class State>
class element_lock : public State::element_lock_type {
 public:
  element_lock(State& s, rank_t target)
      : State::element_lock_type(s.control, State::lock_words(s.ranks()), target) {}
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
