// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/fence.hpp>
#include <pgas/stage.hpp>
#include <pgas/window.hpp>
#include <vector>

#include "exact_sum.hpp"
#include "geometry.hpp"
#include "su3.hpp"

namespace example::lattice {

/// Pseudo-random numbers in [-1, 1) that belong to a place of the lattice, so they do not depend on the
/// ranks.
class random_at {
 public:
  random_at(coordinates const& all, coordinates const& at, std::uint64_t kind) noexcept : state_(kind) {
    for (std::size_t d = 0; d < dimensions; ++d) state_ = state_ * all[d] + at[d];
    state_ *= 0xd1342543de82ef95U;
  }
  double operator()() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;  // splitmix64
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    x ^= x >> 31U;
    return static_cast<double>(x >> 11U) * 0x1p-52 - 1;
  }

 private:
  std::uint64_t state_;
};

/// The links that leave a site forwards, one for each dimension.
using forward_links = std::array<su3_matrix, dimensions>;

/// Links near the identity, of equal disorder everywhere.
inline std::vector<forward_links> random_links(geometry const& g) {
  constexpr double disorder = 0.3;
  std::vector<forward_links> all(g.sites());
  for (std::size_t i = 0; i < g.sites(); ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      random_at next(g.all_extents(), g.global(i), d + 1);
      su3_matrix u = identity();
      for (auto& row : u) {
        for (complex& c : row) {
          c.re += disorder * next();
          c.im += disorder * next();
        }
      }
      all[i][d] = reunitarized(u);
    }
  }
  return all;
}

/// The links of one rank's sites and of its ghosts.
struct link_field {
  std::vector<forward_links> own;
  std::array<std::vector<forward_links>, 2> ghosts{};  ///< by parity

  /// The links of neighbour `n`, as geometry::next names it, of a site with this parity.
  [[nodiscard]] forward_links const& of(std::size_t n, std::size_t parity) const noexcept {
    return n < own.size() ? own[n] : ghosts[1 - parity][n - own.size()];
  }
};

/// Gets the ghosts' links from the ranks that own them. Collective.
template <class Team>
void get_ghosts(Team const& team, geometry const& g, link_field& field) {
  auto const window = pgas::make_window<forward_links>(team, g.sites());
  {
    auto const mine = pgas::stage(window, pgas::write_only);
    std::copy(field.own.begin(), field.own.end(), mine.begin());
  }
  pgas::fence epoch{window};
  for (auto& ghosts : field.ghosts) ghosts.resize(g.ghosts());
  for (std::size_t direction = 0; direction < directions; ++direction) {
    if (!g.is_divided(direction)) continue;
    auto const owner = epoch.to(g.neighbour(direction));
    for (std::size_t parity = 0; parity < 2; ++parity) {
      forward_links* ghost = &field.ghosts[parity][g.ghost_begin(direction)];
      for (site_index const i : g.face(opposite(direction), parity))
        owner.get(i, std::span<forward_links>(ghost++, 1));
    }
  }
}

/// The sum over this rank's plaquettes: a third of the real part of the trace of each smallest loop.
inline exact_sum plaquettes(geometry const& g, link_field const& links) {
  exact_sum sum;
  for (std::size_t i = 0; i < g.sites(); ++i) {
    std::size_t const parity = i < g.half() ? 0 : 1;
    forward_links const& here = links.own[i];
    for (std::size_t a = 0; a < dimensions; ++a) {
      for (std::size_t b = a + 1; b < dimensions; ++b) {
        su3_matrix const there = product(here[a], links.of(g.next(i)[2 * a], parity)[b]);
        su3_matrix const back = product(here[b], links.of(g.next(i)[2 * b], parity)[a]);
        sum.add(trace(product(there, adjoint(back))).re / 3);
      }
    }
  }
  return sum;
}

}  // namespace example::lattice
