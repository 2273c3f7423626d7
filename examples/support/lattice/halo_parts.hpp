// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/window.hpp>

#include "geometry.hpp"
#include "staggered.hpp"

namespace example::lattice {

/// The memory of a halo: a window with the faces of both parities, and signals with a tag for each direction.
/// Its epoch is open for its lifetime and excludes nobody.
template <class Team>
class halo_parts {
  using protocols = pgas::protocols<typename Team::protocols_type::fence, typename Team::protocols_type::post,
                                    pgas::sync::shared_only>;
  using quiet_team = pgas::team<typename Team::backend_type, typename Team::coherence_type, protocols>;

 public:
  using window_type = pgas::window_on<quiet_team, color_vector>;

  /// Collective.
  halo_parts(Team const& team, geometry const& g)
      : window(pgas::make_window<color_vector>(quiet_team(team.state()), 2 * g.ghosts())),
        signals(pgas::make_signals(window, directions)),
        epoch(window) {}

  window_type window;
  pgas::signals_of<window_type> signals;
  pgas::lock_all<typename window_type::state_type> epoch;
};

/// Copies the sites of a face to `to`, side by side.
inline void pack(std::span<site_index const> face, std::size_t first, half_field const& from,
                 color_vector* to) noexcept {
  for (site_index const i : face) *to++ = from[i - first];
}

}  // namespace example::lattice
