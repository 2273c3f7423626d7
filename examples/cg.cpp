// SPDX-License-Identifier: BSL-1.0
// cg: the smallest eigenvalue of a sparse matrix by conjugate gradients: NAS CG. cg [--class S|W|A].
#include <chrono>
#include <cmath>
#include <cstdio>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>
#include <vector>

#include "support/conjugate_gradient.hpp"

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    if (!arguments.empty() && (arguments.size() != 2 || arguments[0] != "--class"))
      throw std::runtime_error("usage: cg [--class S|W|A]");
    auto const problem = example::nas::cg::problem_of(arguments.empty() ? "S" : arguments[1]);
    example::conjugate_gradient equations(team, problem);

    // The power method on the inverse: x turns towards the eigenvector, and its length gives the eigenvalue.
    std::vector<double> x(equations.rows(), 1.0);
    std::vector<double> z(equations.rows());
    double zeta = 0;
    team.barrier();
    auto const start = std::chrono::steady_clock::now();
    for (int k = 1; k <= example::nas::cg::iterations; ++k) {
      double const residual = equations.solve(x, z);
      zeta = problem.shift + 1 / equations.dot(x, z);
      double const length = std::sqrt(equations.dot(z, z));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = z[i] / length;
      if (team.rank() == 0) std::printf("iteration %2d: residual %.1e, zeta %.12f\n", k, residual, zeta);
    }
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - start;

    if (!(std::abs(zeta - problem.zeta) <= example::nas::cg::tolerance))
      throw std::runtime_error("not verified: zeta deviates by " + std::to_string(zeta - problem.zeta));
    if (team.rank() != 0) return;
    double const products = static_cast<double>(problem.nonzeros * (problem.nonzeros + 1));
    double const operations =
        2.0 * example::nas::cg::iterations * static_cast<double>(problem.order) *
        (6 + products + example::nas::cg::steps * (5 + products));  // the benchmark's own count
    std::fprintf(stderr, "cg: %.1f MFLOP/s\n", operations / time.count() * 1e-6);
    std::printf("class %s: verified, zeta %.12f\n", problem.name.data(), zeta);
  });
}
// tools/run cg:
//   iteration  1: residual 1.4e-13, zeta 9.998644157914
//   ...
//   iteration 15: residual 1.7e-15, zeta 8.597177507865
//   cg: 388.5 MFLOP/s
//   class S: verified, zeta 8.597177507865
