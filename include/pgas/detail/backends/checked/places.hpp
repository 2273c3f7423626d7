// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/backends/checked/memory.hpp>
#include <pgas/detail/checking/known_places.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The places of a rank's operations, numbered in the memory that all ranks share.
using places = known_places<memory>;

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
