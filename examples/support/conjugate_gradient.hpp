// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <numeric>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <span>
#include <utility>
#include <vector>

#include "nas_cg.hpp"

namespace example {

/// Solves equations with the matrix of a NAS problem by conjugate gradients. Each rank has a block of rows,
/// and the elements of the vectors with the same indices. One vector is shared: all ranks get all of it in
/// each step.
template <class Team>
class conjugate_gradient {
 public:
  /// Collective, like all members but rows() and matrix().
  conjugate_gradient(Team& team, nas::cg::problem const& problem)
      : team_(team),
        shared_(pgas::make_array<double>(team, problem.order)),
        own_(shared_.own_box()),
        matrix_(nas::cg::make_rows(problem, own_.first[0], own_.count[0])),
        all_(problem.order),
        q_(rows()),
        r_(rows()) {}

  /// The number of this rank's rows.
  [[nodiscard]] std::size_t rows() const noexcept { return own_.count[0]; }
  [[nodiscard]] nas::cg::sparse_rows const& matrix() const noexcept { return matrix_; }

  [[nodiscard]] double dot(std::span<double const> a, std::span<double const> b) {
    return team_.all_reduce(std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
  }

  /// Makes A z approximate x, and returns the norm of the difference.
  double solve(std::span<double const> x, std::span<double> z) {
    std::copy(x.begin(), x.end(), r_.begin());
    std::fill(z.begin(), z.end(), 0.0);
    double rho = dot(x, x);
    pgas::fence epoch{shared_, pgas::read_only};
    std::span<double const> const p(all_.data() + own_.first[0], rows());
    multiply(epoch, [&](std::size_t i) { return x[i]; });
    for (int step = 0;; ++step) {
      double const alpha = rho / dot(p, q_);
      double mine = 0;
      for (std::size_t i = 0; i < rows(); ++i) {
        z[i] += alpha * p[i];
        r_[i] -= alpha * q_[i];
        mine += r_[i] * r_[i];
      }
      double const before = std::exchange(rho, team_.all_reduce(mine));
      if (step + 1 == nas::cg::steps) break;
      multiply(epoch, [&](std::size_t i) { return r_[i] + rho / before * p[i]; });
    }
    multiply(epoch, [&](std::size_t i) { return z[i]; });
    for (std::size_t i = 0; i < rows(); ++i) q_[i] -= x[i];
    return std::sqrt(dot(q_, q_));
  }

 private:
  /// q = A times the vector with this rank's elements value(i). No rank still gets the vector before it,
  /// since all ranks have added up a sum since then.
  template <pgas::open_epoch Epoch, class Value>
  void multiply(Epoch& epoch, Value const& value) {
    if (auto const mine = pgas::stage(shared_, pgas::write_only); true)
      for (std::size_t i = 0; i < rows(); ++i) mine[i] = value(i);
    epoch.next();
    epoch.get(0, all_);
    epoch.flush_local_all();
    for (std::size_t i = 0; i < rows(); ++i) q_[i] = matrix_.times_in_four(i, all_.data());
  }

  using array = pgas::array_on<Team, double, 1>;

  Team& team_;
  array shared_;
  pgas::box<1> own_;
  nas::cg::sparse_rows matrix_;
  std::vector<double> all_;  // the shared vector, as this rank got it
  std::vector<double> q_;
  std::vector<double> r_;
};

}  // namespace example
