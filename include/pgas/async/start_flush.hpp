// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/called.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/request.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// A flush of the segment of such an epoch can be under way while its rank goes on.
template <class Epoch>
concept flushes_beside = requires(Epoch& e) {
  requires started_flush_segment<std::remove_cvref_t<decltype(e.state().segment)>>;
  requires !cache_controlled<std::remove_cvref_t<decltype(e.state().segment)>>;
};

}  // namespace detail

/// Starts a flush of one target: `co_await start_flush(epoch, rank);`.
///
/// One-sided. Done when this rank's earlier puts to the target have arrived; the sources may then be reused,
/// too. Requires that the epoch is open to the target, and throws as `flush` does. Costs nothing on direct
/// memory, whose puts have arrived when they return, and a message there and back on loopback and simulated.
/// Other backends cannot start a flush, so there the call waits, and is done at its return. UPC++: operation
/// completion of a put; MPI has no equal.
template <class Epoch>
[[nodiscard]] auto start_flush(Epoch& epoch, rank_t target, detail::caller by = detail::here()) {
  detail::called const call("start_flush", by);
  epoch.check_open(call);
  epoch.state().check_rank(target, call);
  if constexpr (requires { epoch.check_target(call, target); }) epoch.check_target(call, target);
  if constexpr (detail::flushes_beside<Epoch>) {
    return epoch.state().segment.rflush(target);
  } else {
    epoch.flush(target);
    return done{};
  }
}

/// The same for all ranks that the epoch is open to.
template <class Epoch>
[[nodiscard]] auto start_flush(Epoch& epoch) {
  if constexpr (detail::flushes_beside<Epoch>) {
    epoch.check_open("start_flush");
    auto& segment = epoch.state().segment;
    joined_requests<decltype(segment.rflush(rank_t{}))> all;
    if constexpr (std::convertible_to<decltype(epoch.open_to()), group>) {
      for (rank_t const target : group(epoch.open_to())) all.add(segment.rflush(target));
    } else {
      for (rank_t target = 0; target < segment.size(); ++target) all.add(segment.rflush(target));
    }
    return all;
  } else {
    epoch.flush_all();
    return done{};
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS
