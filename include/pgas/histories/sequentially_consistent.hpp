// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/histories/order_search.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <pgas/histories/shortest.hpp>
#include <pgas/histories/verdict.hpp>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::histories {

/// Whether a history is sequentially consistent: whether one order of all operations keeps the program order
/// of each rank and gives all results of the sequential object `S`.
///
/// The object is checked as a whole, since sequential consistency does not compose: each of two keys may be
/// consistent, and both together not. Times do not matter. A linearizable history is also sequentially
/// consistent. Requires and throws as check_linearizable. Costs more than that: the order of returns guides
/// the search, but a wrong history ends it only after all orders that differ in a state.
/// Source: Lamport 1979; Shahmirzadi 2014, section 3.4.3 and figure 3.17.
template <sequential_object S>
[[nodiscard]] verdict<S> check_sequentially_consistent(history<S> const& whole, effort const& within = {}) {
  detail::require_program_order(whole.records());
  return detail::searched(whole, detail::order_of::programs, "sequentially consistent", within,
                          [&](history<S> const& wrong, auto const& is_wrong) {
                            return shortened(wrong, is_wrong, within.most_checks);
                          });
}

}  // namespace PGAS_NAMESPACE::histories
