// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/grid.hpp>
#include <span>
#include <vector>

namespace example::lattice {

inline constexpr std::size_t dimensions = 4;
inline constexpr std::size_t directions = 2 * dimensions;  // 2 d leads to the next site of d, 2 d + 1 back
using coordinates = std::array<std::size_t, dimensions>;
using site_index = std::uint32_t;

constexpr std::size_t opposite(std::size_t direction) noexcept { return direction ^ 1U; }

/// The sites of one rank in a periodic lattice that is divided over a grid of ranks, and their neighbours.
///
/// Sites are numbered by parity, even ones first, as in MILC. A neighbour on another rank has a ghost, and
/// all ghosts of one parity lie side by side, direction by direction. All ranks have equal extents, so a
/// rank finds the places of its sites at its neighbours without asking.
class geometry {
 public:
  /// Requires even extents of at least 2, and a rank with a place on the grid.
  geometry(coordinates const& extents, pgas::grid<dimensions> const& ranks, pgas::rank_t rank)
      : extents_(extents), ranks_(ranks), place_(ranks.place(rank)) {
    for (std::size_t const e : extents_) sites_ *= e;
    for (std::size_t d = 0; d < directions; ++d) {
      ghost_begin_[d] = ghosts_;
      if (is_divided(d)) ghosts_ += sites_ / extents_[d / 2] / 2;
    }
    next_.resize(sites_);
    for (std::size_t lex = 0; lex < sites_; ++lex) add_site(lex);
  }

  [[nodiscard]] std::size_t sites() const noexcept { return sites_; }
  /// The number of sites of one parity.
  [[nodiscard]] std::size_t half() const noexcept { return sites_ / 2; }
  /// The number of ghosts of one parity.
  [[nodiscard]] std::size_t ghosts() const noexcept { return ghosts_; }
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return extents_[d]; }
  /// The coordinates in the whole lattice of site i.
  [[nodiscard]] coordinates global(std::size_t i) const noexcept { return global_[i]; }
  /// The extents of the whole lattice.
  [[nodiscard]] coordinates all_extents() const noexcept {
    coordinates all = extents_;
    for (std::size_t d = 0; d < dimensions; ++d) all[d] *= static_cast<std::size_t>(ranks_.extent(d));
    return all;
  }

  /// The neighbour of a site: a site, or, from sites() on, the ghost with the number that remains.
  [[nodiscard]] std::array<site_index, directions> const& next(std::size_t i) const noexcept {
    return next_[i];
  }
  /// The sites of a parity whose neighbours are all on this rank, and the others.
  [[nodiscard]] std::span<site_index const> interior(std::size_t parity) const noexcept {
    return interior_[parity];
  }
  [[nodiscard]] std::span<site_index const> boundary(std::size_t parity) const noexcept {
    return boundary_[parity];
  }

  /// Returns whether the next site in this direction may be on another rank.
  [[nodiscard]] bool is_divided(std::size_t direction) const noexcept {
    return ranks_.extent(direction / 2) > 1;
  }
  /// The rank in this direction.
  [[nodiscard]] pgas::rank_t neighbour(std::size_t direction) const noexcept {
    auto place = place_;
    std::size_t const d = direction / 2;
    pgas::rank_t const n = ranks_.extent(d);
    place[d] = (place[d] + (direction % 2 == 0 ? 1 : n - 1)) % n;
    return ranks_.rank(place);
  }
  /// The sites of a parity that the rank in this direction has as ghosts, in the order of these. That rank's
  /// sites with the same numbers, but of the opposite direction, are this rank's ghosts.
  [[nodiscard]] std::span<site_index const> face(std::size_t direction, std::size_t parity) const noexcept {
    return faces_[direction][parity];
  }
  /// The first ghost in this direction.
  [[nodiscard]] std::size_t ghost_begin(std::size_t direction) const noexcept {
    return ghost_begin_[direction];
  }

 private:
  [[nodiscard]] coordinates coordinates_of(std::size_t lex) const noexcept {
    coordinates at{};
    for (std::size_t d = dimensions; d-- > 0; lex /= extents_[d]) at[d] = lex % extents_[d];
    return at;
  }
  /// The first site of each rank is even, since extents are.
  [[nodiscard]] static std::size_t parity_of(coordinates const& at) noexcept {
    return (at[0] + at[1] + at[2] + at[3]) % 2;
  }
  /// Two sites that differ in the last coordinate, 2 k and 2 k + 1, have different parities: each half counts
  /// one of them.
  [[nodiscard]] std::size_t index_of(coordinates const& at) const noexcept {
    std::size_t lex = 0;
    for (std::size_t d = 0; d < dimensions; ++d) lex = lex * extents_[d] + at[d];
    return parity_of(at) * half() + lex / 2;
  }
  /// The number of a site in its face, among those of its parity.
  [[nodiscard]] std::size_t in_face(coordinates const& at, std::size_t normal) const noexcept {
    std::size_t lex = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (d != normal) lex = lex * extents_[d] + at[d];
    }
    return lex / 2;
  }

  void add_site(std::size_t lex) {
    coordinates const at = coordinates_of(lex);
    std::size_t const i = index_of(at);
    std::size_t const parity = parity_of(at);
    global_.resize(sites_);
    for (std::size_t d = 0; d < dimensions; ++d)
      global_[i][d] = static_cast<std::size_t>(place_[d]) * extents_[d] + at[d];
    bool inside = true;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      std::size_t const d = direction / 2;
      bool const forward = direction % 2 == 0;
      bool const at_face = at[d] == (forward ? extents_[d] - 1 : 0);
      coordinates to = at;
      to[d] = (at[d] + (forward ? 1 : extents_[d] - 1)) % extents_[d];
      if (at_face && is_divided(direction)) {
        inside = false;
        next_[i][direction] = static_cast<site_index>(sites_ + ghost_begin_[direction] + in_face(at, d));
        faces_[direction][parity].push_back(static_cast<site_index>(i));
      } else {
        next_[i][direction] = static_cast<site_index>(index_of(to));
      }
    }
    (inside ? interior_ : boundary_)[parity].push_back(static_cast<site_index>(i));
  }

  coordinates extents_;
  pgas::grid<dimensions> ranks_;
  std::array<pgas::rank_t, dimensions> place_;
  std::size_t sites_ = 1;
  std::size_t ghosts_ = 0;
  std::array<std::size_t, directions> ghost_begin_{};
  std::vector<coordinates> global_;
  std::vector<std::array<site_index, directions>> next_;
  std::array<std::vector<site_index>, 2> interior_;
  std::array<std::vector<site_index>, 2> boundary_;
  std::array<std::array<std::vector<site_index>, 2>, directions> faces_;
};

}  // namespace example::lattice
