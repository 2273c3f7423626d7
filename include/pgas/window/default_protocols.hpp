// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/sync/by_size.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/stamped.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS {

/// The fence a window uses unless it is told another, and the barrier of teams. Up to 16 ranks one word that all add to
/// is cheaper, also where ranks share cores; more would queue for it.
using default_fence = sync::by_size<sync::central_counter, sync::dissemination, 16>;

/// The protocols a window uses unless it is told others.
using default_protocols = protocols<default_fence, sync::match_vector, sync::shared_only>;

/// The same on a given backend: without match_vector where control words have no read-modify-write.
template <class Backend>
using default_protocols_on =
    std::conditional_t<can_carry(Backend::control_type::read_modify_write, default_protocols::post::needs),
                       default_protocols, protocols<default_fence, sync::stamped, sync::shared_only>>;

}  // namespace pgas::inline PGAS_ASSERTIONS
