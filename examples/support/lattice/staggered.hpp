// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "exact_sum.hpp"
#include "geometry.hpp"
#include "links.hpp"
#include "su3.hpp"

/// Staggered fermions (Kogut and Susskind 1975) in the form of MILC: the operator D that couples even and odd
/// sites, and vectors on the sites of one parity.
///
/// Each function is compiled once and treats each site alike. A site's numbers then have the same bits on
/// every rank and on one rank alone.
namespace example::lattice {

/// The eight links that a site multiplies its neighbours with, signs included, direction by direction.
using site_links = std::array<su3_matrix, directions>;

/// A vector on the sites of one parity.
using half_field = std::vector<color_vector>;

/// The links of D for all sites: the forward link, and minus the adjoint of the link that arrives from
/// behind. The staggered phase is the sign (-1)^(sum of the coordinates before the dimension).
inline std::vector<site_links> make_site_links(geometry const& g, link_field const& links) {
  std::vector<site_links> all(g.sites());
  for (std::size_t i = 0; i < g.sites(); ++i) {
    std::size_t const parity = i < g.half() ? 0 : 1;
    std::size_t before = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      double const phase = before % 2 == 0 ? 1 : -1;
      all[i][2 * d] = phase * links.own[i][d];
      all[i][2 * d + 1] = -phase * adjoint(links.of(g.next(i)[2 * d + 1], parity)[d]);
      before += g.global(i)[d];
    }
  }
  return all;
}

/// Floating-point operations of D at a site, as MILC counts them: eight products of 66, and seven sums of 6.
inline constexpr std::size_t operations_of_d = 8 * 66 + 7 * 6;

/// Sets `to` at some sites of a parity to D `from`, whose sites and ghosts have the opposite parity.
[[gnu::noinline]] inline void apply_d(geometry const& g, std::span<site_links const> links,
                                      std::size_t parity, std::span<site_index const> sites,
                                      color_vector const* from, color_vector const* ghosts,
                                      color_vector* to) {
  std::size_t const first_to = parity * g.half();
  std::size_t const first_from = g.half() - first_to;
  for (site_index const i : sites) {
    color_vector sum{};
    auto const& next = g.next(i);
    for (std::size_t d = 0; d < directions; ++d) {
      color_vector const& v = next[d] < g.sites() ? from[next[d] - first_from] : ghosts[next[d] - g.sites()];
      add_product(sum, links[i][d], v);
    }
    to[i - first_to] = sum;
  }
}

/// Adds factor times `b` to `a`.
[[gnu::noinline]] inline void add_scaled(half_field& a, double factor, half_field const& b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) a[i][c] = a[i][c] + factor * b[i][c];
}
/// Sets `a` to b + factor a.
[[gnu::noinline]] inline void scale_and_add(half_field& a, double factor, half_field const& b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) a[i][c] = b[i][c] + factor * a[i][c];
}
/// Sets `a` to factor b - a.
[[gnu::noinline]] inline void subtract_from_scaled(half_field& a, double factor,
                                                   half_field const& b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) a[i][c] = factor * b[i][c] - a[i][c];
}
/// The real part of the product of two vectors, the same bits in any order of sites.
[[gnu::noinline]] inline exact_sum dot(half_field const& a, half_field const& b) noexcept {
  exact_sum sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum.add(inner(a[i], b[i]).re);
  return sum;
}
/// Floating-point operations of the vectors in an iteration, for a site: three updates and two products.
inline constexpr std::size_t operations_of_vectors = 3 * 12 + 12 + 2 * 12;

/// Random numbers on the even sites.
inline half_field random_source(geometry const& g) {
  half_field b(g.half());
  for (std::size_t i = 0; i < g.half(); ++i) {
    random_at next(g.all_extents(), g.global(i), 99);
    for (complex& c : b[i]) {
      c.re = next();
      c.im = next();
    }
  }
  return b;
}

}  // namespace example::lattice
