// SPDX-License-Identifier: BSL-1.0
// Calls of functions at other ranks, on the emulated machine with hardware queues and on the simulated
// network. Their ranks are fibers, and no other unit of calls has them.
#include <pgas/backends/simulated.hpp>
#include <pgas/backends/tile.hpp>

#include <cstdint>
#include <tuple>

#include "support/ranks.hpp"

namespace pgas_test {

using calls_models = std::tuple<model<pgas::backends::tile>, model<pgas::backends::simulated>>;

/// Every other run is in virtual time, and every other one without a clock.
template <>
struct disturbed<pgas::backends::tile> {
  explicit disturbed(std::uint64_t seed)
      : with(seed % 2 == 0 ? chosen() : pgas::tile_machine::options(chosen()).disturb(seed / 2)) {}
  static pgas::tile_machine::options chosen() { return pgas::tile_machine::with_options::chosen(); }
  pgas::tile_machine::with_options with;
};

}  // namespace pgas_test

#include "conformance/calls.hpp"
