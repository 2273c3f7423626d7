// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// The order that a collective promises to the program.
enum class collective_order : std::uint8_t {
  all,        ///< what each rank did before is before what each rank does after
  from_root,  ///< what the root did before is before what each rank does after, as in a broadcast
  to_root,    ///< what each rank did before is before what the root does after, as in a gather
};

/// A control whose checker wants to know the order that a collective promises.
///
/// Inside, a collective orders more: its ranks reuse memory, and so learn that others have read it.
/// `order_in_collective(order, root)` returns a guard, with which the rank begins the collective. While it
/// lives, the rank acquires all that the words carry. At its end the rank keeps only what is promised, until
/// its next collective of any team begins.
template <class C>
concept rooted_control =
    control<C> && requires(C const& c, rank_t root) { c.order_in_collective(collective_order::all, root); };

namespace detail {

/// Promises the program no more than this order of a collective. Free if the control has no checker.
template <class C>
[[nodiscard]] auto order_in_collective(C const& of, collective_order order, rank_t root) {
  if constexpr (rooted_control<C>) {
    return of.order_in_collective(order, root);
  } else {
    return no_order_scope{};
  }
}

/// The order of a collective with this name. Names of one operation may differ in what follows.
constexpr collective_order order_of_collective(std::string_view name, bool has_root) noexcept {
  if (!has_root) return collective_order::all;
  if (name.starts_with("broadcast") || name.starts_with("scatter")) return collective_order::from_root;
  if (name.starts_with("gather") || name.starts_with("reduce")) return collective_order::to_root;
  return collective_order::all;
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
