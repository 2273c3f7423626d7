// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/histories/history.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace PGAS_NAMESPACE::histories {

/// The specification of an object: how it behaves when one operation follows the other. A type of static
/// functions, without data.
///
/// `apply(state, record)` carries out the operation of a record. It returns false if the operation cannot
/// take place in this state, or if the recorded result is not the one that this state gives. A pending
/// operation may have any result. `state{}` is the state of a new object. `call_text(operation)` and
/// `result_text(record)` write the columns of a table.
///
/// A specification may also offer:
/// * `observes(record)`: true for an operation that changes no state in which its result is right;
/// * `drops_with(gone, other, later)`: see `shortened`;
/// * `hash(state)`, which speeds up searches;
/// * `part` and `part_of(operation)`: see `object_of_parts`.
template <class S>
concept sequential_object =
    std::copyable<typename S::operation> && std::regular<typename S::result> &&
    std::regular<typename S::state> &&
    requires(typename S::state& state, record_of<S> const& record, typename S::operation const& what) {
      { S::apply(state, record) } -> std::same_as<bool>;
      { S::call_text(what) } -> std::convertible_to<std::string>;
      { S::result_text(record) } -> std::convertible_to<std::string>;
    };

/// An object that consists of parts which do not know of each other, such as the keys of a map. A history of
/// it is linearizable if and only if the history of each part is, as long as no rank calls at the moment in
/// which its own call or another one's has ended; else the parts tell less. Sequential consistency does not
/// compose.
/// `part` specifies one part, and `part_of(operation)` returns a name of the part, which has an order.
/// Source: Herlihy and Wing 1990, theorem 1.
template <class S>
concept object_of_parts = sequential_object<S> && sequential_object<typename S::part> &&
                          std::same_as<typename S::part::operation, typename S::operation> &&
                          std::same_as<typename S::part::result, typename S::result> &&
                          requires(typename S::operation const& what) {
                            { S::part_of(what) } -> std::totally_ordered;
                          };

namespace detail {

/// False if the specification does not say.
template <sequential_object S>
[[nodiscard]] bool observes(record_of<S> const& r) {
  if constexpr (requires { S::observes(r); }) return S::observes(r);
  return false;
}

template <sequential_object S>
[[nodiscard]] std::size_t hash_of_state(typename S::state const& state) {
  if constexpr (requires { S::hash(state); }) return S::hash(state);
  return 0;
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE::histories
