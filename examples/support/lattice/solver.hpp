// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "staggered.hpp"

namespace example::lattice {

/// The ghosts of a lattice that one rank has alone: there are none.
struct no_halo {
  void begin(half_field const& /*from*/, std::size_t /*parity*/) noexcept {}
  [[nodiscard]] color_vector const* finish() noexcept { return nullptr; }
};

/// The end of a solution.
struct solution {
  std::size_t iterations = 0;
  double residual = 0;  ///< |b - A x| / |b|, computed anew
  exact_sum square{};   ///< of x, over all ranks
};

/// Solves (4 m^2 - D D) x = b on the even sites by conjugate gradients, as MILC's ks_congrad does.
///
/// `Halo` moves ghosts: `begin(from, parity)` sends this rank's faces of a vector, and `finish()` returns the
/// ghosts of that parity. Sites that need no ghost are computed between the two. `Ranks` has `sum(exact_sum)`
/// over all ranks, and `work(operations)`, which is told what was computed.
template <class Halo, class Ranks>
class solver {
 public:
  solver(geometry const& g, std::span<site_links const> links, Halo& halo, Ranks const& ranks, double mass)
      : g_(&g), links_(links), halo_(&halo), ranks_(&ranks), mass_(mass), odd_(g.half()) {}

  /// Solves for `b` until the residual falls below `wanted`, or for `most` iterations. Collective.
  solution solve(half_field const& b, double wanted, std::size_t most) {
    solution found;
    half_field x(b.size());
    half_field r = b;
    half_field p = b;
    half_field q(b.size());
    double const all = norm(b);
    double square = all;
    while (found.iterations < most && square > wanted * wanted * all) {
      ++found.iterations;
      step(x, r, p, q, square);
    }
    apply(x, q);
    scale_and_add(q, -1, b);
    found.residual = std::sqrt(norm(q) / all);
    found.square = ranks_->sum(dot(x, x));
    return found;
  }

  /// One iteration.
  void step(half_field& x, half_field& r, half_field& p, half_field& q, double& square) {
    apply(p, q);
    double const alpha = square / ranks_->sum(dot(p, q)).value();
    add_scaled(x, alpha, p);
    add_scaled(r, -alpha, q);
    double const next = norm(r);
    scale_and_add(p, next / square, r);
    square = next;
    ranks_->work(operations_of_vectors * g_->half());
  }

 private:
  double norm(half_field const& a) { return ranks_->sum(dot(a, a)).value(); }

  /// Sets `to` to A `from`.
  void apply(half_field const& from, half_field& to) {
    half_apply(from, 1, odd_);
    half_apply(odd_, 0, to);
    subtract_from_scaled(to, 4 * mass_ * mass_, from);
  }
  /// Sets `to`, on the sites of a parity, to D `from`.
  void half_apply(half_field const& from, std::size_t parity, half_field& to) {
    halo_->begin(from, 1 - parity);
    apply_d(*g_, links_, parity, g_->interior(parity), from.data(), nullptr, to.data());
    ranks_->work(operations_of_d * g_->interior(parity).size());
    color_vector const* const ghosts = halo_->finish();
    apply_d(*g_, links_, parity, g_->boundary(parity), from.data(), ghosts, to.data());
    ranks_->work(operations_of_d * g_->boundary(parity).size());
  }

  geometry const* g_;
  std::span<site_links const> links_;
  Halo* halo_;
  Ranks const* ranks_;
  double mass_;
  half_field odd_;
};

}  // namespace example::lattice
