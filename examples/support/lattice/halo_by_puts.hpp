// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "halo_parts.hpp"

namespace example::lattice {

/// Ghosts by puts with signals: a rank packs a face into the window of the neighbour that needs it, and tells
/// it. One message way, where a flag and a get take three.
///
/// Even and odd ghosts have memory of their own and take turns. A rank puts ghosts of a parity again when it
/// has those of the other parity. Its neighbour has sent these after its last look at the former.
/// If ranks share memory, the face is packed in its place and copied by nobody.
/// Source: notified access, Belli and Hoefler 2015.
template <class Team>
class halo_by_puts {
 public:
  static constexpr std::string_view name = "puts";

  /// Collective.
  halo_by_puts(Team const& team, geometry const& g)
      : g_(&g), parts_(team, g), packed_(g.ghosts()), copy_(is_plain ? 0 : g.ghosts()) {}

  /// Sends this rank's faces of a vector with this parity. Collective.
  void begin(half_field const& from, std::size_t parity) {
    parity_ = parity;
    for (std::size_t d = 0; d < directions; ++d) {
      if (!g_->is_divided(d)) continue;
      pgas::rank_t const to = g_->neighbour(d);
      std::size_t const place = parity * g_->ghosts() + g_->ghost_begin(opposite(d));
      auto const face = g_->face(d, parity);
      if (auto const near = parts_.window.part_if_near(to)) {
        pack(face, parity * g_->half(), from, near->data() + place);
      } else {
        auto const packed = std::span(packed_).subspan(g_->ghost_begin(d), face.size());
        pack(face, parity * g_->half(), from, packed.data());
        parts_.epoch.put(to, place, std::span<color_vector const>(packed));
      }
    }
    for (std::size_t d = 0; d < directions; ++d) {
      if (g_->is_divided(d)) parts_.signals.signal(parts_.epoch, g_->neighbour(d), opposite(d));
    }
  }
  /// Returns the ghosts when all neighbours' faces are here.
  [[nodiscard]] color_vector const* finish() {
    for (std::size_t d = 0; d < directions; ++d) {
      if (g_->is_divided(d)) parts_.signals.wait({g_->neighbour(d), d});
    }
    parts_.epoch.flush_local_all();  // the next faces may be packed
    auto const ghosts = pgas::stage(parts_.window, parity_ * g_->ghosts(), g_->ghosts(), pgas::read_only);
    if constexpr (is_plain) return ghosts.data();
    std::copy(ghosts.begin(), ghosts.end(), copy_.begin());
    return copy_.data();
  }

 private:
  using window_type = typename halo_parts<Team>::window_type;
  static constexpr bool is_plain = window_type::is_contiguous;

  geometry const* g_;
  halo_parts<Team> parts_;
  half_field packed_;  ///< the sources of puts
  half_field copy_;    ///< of the ghosts, where a part is not plain memory
  std::size_t parity_ = 0;
};

}  // namespace example::lattice
