// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/sync/bakery.hpp>
#include <pgas/sync/biased.hpp>
#include <pgas/sync/by_size.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/node_first.hpp>
#include <pgas/sync/queued.hpp>
#include <pgas/sync/stamped.hpp>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// The default fence of a window, and the barrier of teams. If at most 16 ranks run at once, one word to
/// which all add is cheapest, however many ranks share the cores. More ranks would queue for that word.
/// Between nodes one rank of each node speaks for all.
using default_fence = sync::by_nodes<sync::by_size<sync::central_counter, sync::dissemination, 16>>;

/// The default protocols of a window. For a window that is never locked exclusively, locks cost control words
/// but no time.
struct default_protocols {
  using fence = default_fence;                         ///< the fence protocol
  using post = sync::match_vector;                     ///< the protocol of access and exposure epochs
  using lock = sync::biased<sync::queued>;             ///< the protocol of lock and lock_all epochs
  static constexpr std::string_view name = "default";  ///< the bundle's name after --pgas-sync
};

/// The default protocols for control words without read-modify-write.
struct default_protocols_on_slots {
  using fence = default_fence;                         ///< the fence protocol
  using post = sync::stamped;                          ///< the protocol of access and exposure epochs
  using lock = sync::biased<sync::bakery>;             ///< the protocol of lock and lock_all epochs
  static constexpr std::string_view name = "default";  ///< the bundle's name after --pgas-sync
};

/// The default protocols of a given backend.
template <class Backend>
using default_protocols_on =
    std::conditional_t<bundle_fits<default_protocols, typename Backend::control_type>, default_protocols,
                       default_protocols_on_slots>;

}  // namespace PGAS_NAMESPACE
