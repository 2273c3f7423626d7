// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "halo_parts.hpp"

namespace example::lattice {

/// Ghosts by flags and gets, as MILC has them on UPC and foMPI: a rank packs its faces into its own window
/// and tells its neighbours; each of them gets the faces when it needs them.
///
/// Even and odd faces have memory of their own and take turns. A rank packs a face again when it has the
/// ghosts of the other parity. Its neighbour has sent these after its gets, so no flag comes back.
/// Source: Gerstenberger, Besta and Hoefler 2014, section 4.4. Differs: flags are signals, which also make
/// the packed face visible, and two parities replace the paper's unnamed rule for the send buffer.
template <class Team>
class halo_by_gets {
 public:
  static constexpr std::string_view name = "gets";

  /// Collective.
  halo_by_gets(Team const& team, geometry const& g) : g_(&g), parts_(team, g), ghosts_(g.ghosts()) {}

  /// Offers this rank's faces of a vector with this parity. Collective.
  void begin(half_field const& from, std::size_t parity) {
    parity_ = parity;
    {
      auto const faces = pgas::stage(parts_.window, parity * g_->ghosts(), g_->ghosts(), pgas::write_only);
      for_each_direction([&](std::size_t d) {
        pack(g_->face(d, parity), parity * g_->half(), from, faces.data() + g_->ghost_begin(d));
      });
    }
    for_each_direction([&](std::size_t d) { parts_.signals.signal(parts_.epoch, g_->neighbour(d), d); });
  }
  /// Returns the ghosts when all neighbours' faces are here.
  [[nodiscard]] color_vector const* finish() {
    for_each_direction([&](std::size_t d) {
      std::size_t const theirs = opposite(d);  // the face of the neighbour that looks this way
      parts_.signals.wait({g_->neighbour(d), theirs});
      parts_.epoch.get(g_->neighbour(d), parity_ * g_->ghosts() + g_->ghost_begin(theirs),
                       std::span(ghosts_).subspan(g_->ghost_begin(d), g_->face(d, parity_).size()));
    });
    parts_.epoch.flush_local_all();
    return ghosts_.data();
  }

 private:
  template <class Act>
  void for_each_direction(Act const& act) const {
    for (std::size_t d = 0; d < directions; ++d) {
      if (g_->is_divided(d)) act(d);
    }
  }

  geometry const* g_;
  halo_parts<Team> parts_;
  half_field ghosts_;
  std::size_t parity_ = 0;
};

}  // namespace example::lattice
