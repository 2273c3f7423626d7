// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/machines/scheduler.hpp>
#include <pgas/machines/scc/options.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

using emulation::bit;
using emulation::timeline;
using emulation::waiters;
using pgas::scc::options;
using pgas::scc::ticks;

/// The order of the cores' turns on the chip.
using scheduler = emulation::scheduler<options>;

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
