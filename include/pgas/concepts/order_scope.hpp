// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/control.hpp>

namespace PGAS_NAMESPACE {

/// The promise that a change of a control word makes to the program: which accesses does it order?
///
/// Control words order more than the program may rely on. Two holders of a shared lock meet at one word, but
/// no rule orders their accesses. A checker reads the scope, and promises the program no more.
enum class order_scope : std::uint8_t {
  all,            ///< a release orders all earlier accesses of the rank before all later ones of the acquirer
  shared_holder,  ///< the same, except for a release and an acquire that are both of this scope
  element,        ///< orders the atomic operations on elements with each other, and nothing else
};

/// A control whose checker wants to know the scope of an acquire or a release.
///
/// `order_as(scope)` returns a guard. While it lives, the acquires and releases of this rank have the scope.
/// Guards nest: the end of a guard restores the scope before it.
template <class C>
concept scoped_control = control<C> && requires(C const& c) { c.order_as(order_scope::element); };

namespace detail {

/// Stands for the guard of a control that checks nothing.
struct no_order_scope {
  ~no_order_scope() {}  // NOLINT(modernize-use-equals-default): a guard must not look unused
};

/// Gives this rank's acquires and releases a scope while the result lives. Free if the control has no
/// checker.
template <class C>
[[nodiscard]] auto order_as(C const& of, order_scope scope) {
  if constexpr (scoped_control<C>) {
    return of.order_as(scope);
  } else {
    return no_order_scope{};
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
