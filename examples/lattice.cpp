// SPDX-License-Identifier: BSL-1.0
// lattice: quarks on a 4-D lattice with SU(3) links. lattice [--local 4x4x4x8] [--mass M%] [--halo
// puts|gets].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <pgas/pgas.hpp>
#include <stdexcept>
#include <string>
#include <support/network_backends.hpp>

#include "support/arguments.hpp"
#include "support/in_quotes.hpp"
#include "support/lattice/halo_by_gets.hpp"
#include "support/lattice/halo_by_puts.hpp"
#include "support/lattice/solver.hpp"

namespace lattice = example::lattice;

struct setting {
  lattice::coordinates local{4, 4, 4, 8};
  double mass = 0.2;
  std::string_view halo = "puts";
};

/// Four even numbers with an x between each two.
lattice::coordinates extents_of(std::string_view text) {
  lattice::coordinates all{};
  std::string_view rest = text;
  for (std::size_t d = 0; d < lattice::dimensions; ++d) {
    std::string_view const one = rest.substr(0, rest.find('x'));
    all[d] = example::number(std::span(&one, 1), 0, 0);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (all[d] == 0 || all[d] % 2 != 0 || all[d] > 64)
      throw std::runtime_error("lattice: " + example::in_quotes(text) +
                               " are no extents; take four even numbers up to 64, such as 4x4x4x8");
  }
  return all;
}

setting read(std::span<std::string_view const> arguments) {
  setting s;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size())
      throw std::runtime_error("lattice: " + std::string(arguments[i]) + " needs a value");
    if (arguments[i] == "--local") {
      s.local = extents_of(arguments[i + 1]);
    } else if (arguments[i] == "--mass") {
      s.mass = static_cast<double>(example::number(arguments, i + 1, 0)) / 100;
    } else if (arguments[i] == "--halo") {
      s.halo = arguments[i + 1];
    } else {
      throw std::runtime_error("usage: lattice [--local XxYxZxT] [--mass HUNDREDTHS] [--halo puts|gets]");
    }
  }
  return s;
}

/// The results of a run. A run on any number of ranks has the bits of a serial one.
struct outcome {
  double plaquette;
  lattice::solution found;
  double seconds = 0;  ///< of the solution, by the rank's clock

  friend bool operator==(outcome const& a, outcome const& b) {
    return a.plaquette == b.plaquette && a.found.iterations == b.found.iterations &&
           a.found.residual == b.found.residual && a.found.square == b.found.square;
  }
};

/// Solves on some ranks, or on one. `ranks` adds over them, and has their clock.
template <class Halo, class Ranks>
outcome solve(lattice::geometry const& g, lattice::link_field const& links, Halo& halo, Ranks const& ranks,
              double mass) {
  auto const all = g.all_extents();
  double const loops = 6.0 * static_cast<double>(all[0] * all[1] * all[2] * all[3]);
  double const plaquette = ranks.sum(lattice::plaquettes(g, links)).value() / loops;
  auto const site_links = lattice::make_site_links(g, links);
  lattice::solver solver(g, site_links, halo, ranks, mass);
  auto const source = lattice::random_source(g);
  auto const begin = ranks.now();
  auto const found = solver.solve(source, 1e-8, 2000);
  std::chrono::duration<double> const passed = ranks.now() - begin;
  return {plaquette, found, passed.count()};
}

/// The ranks of a team, which also counts their work.
template <class Team>
struct team_ranks {
  Team team;

  [[nodiscard]] lattice::exact_sum sum(lattice::exact_sum const& mine) const {
    return team.all_reduce(mine, [](auto const& a, auto const& b) { return a + b; });
  }
  /// Emulated clocks count two operations a cycle.
  void work(std::size_t operations) const { team.charge(operations / 2); }
  [[nodiscard]] auto now() const { return team.now(); }
};

/// One rank without a team.
struct one_rank {
  [[nodiscard]] static lattice::exact_sum sum(lattice::exact_sum const& mine) { return mine; }
  static void work(std::size_t) {}
  [[nodiscard]] static auto now() { return std::chrono::steady_clock::now(); }
};

outcome solve_serially(lattice::coordinates const& extents, double mass) {
  lattice::geometry const g(extents, pgas::grid<lattice::dimensions>(1, 1, 1, 1), 0);
  lattice::no_halo none;
  return solve(g, lattice::link_field{lattice::random_links(g)}, none, one_rank{}, mass);
}

template <template <class> class Halo, class Team>
void run_with(Team& team, setting const& s) {
  auto const ranks = pgas::grid<lattice::dimensions>(0, 0, 0, 0).over(team.size());
  lattice::geometry const g(s.local, ranks, team.rank());
  lattice::link_field links{lattice::random_links(g)};
  lattice::get_ghosts(team, g, links);
  Halo<Team> halo(team, g);
  team_ranks<Team> const all{team};
  outcome const mine = solve(g, links, halo, all, s.mass);
  double const seconds = team.all_reduce(mine.seconds, pgas::op::max{});
  team.barrier();

  if (team.rank() != 0) return;
  auto const n = g.all_extents();
  double const operations =
      static_cast<double>((2 * lattice::operations_of_d + lattice::operations_of_vectors) * g.half() *
                          mine.found.iterations) *
      team.size();
  std::fprintf(stderr, "lattice: %.1f Mflop/s, halo by %s\n", operations / seconds * 1e-6,
               std::string(Halo<Team>::name).c_str());
  if (!(mine == solve_serially(n, s.mass)))
    throw std::runtime_error("lattice: not verified: a serial run gives other bits");
  if (!(mine.found.residual < 1.5e-8))
    throw std::runtime_error("lattice: not verified: the residual is " + std::to_string(mine.found.residual));
  std::printf(
      "lattice: %zux%zux%zux%zu sites, plaquette %.9f, %zu iterations, residual %.2e, as a serial run\n",
      n[0], n[1], n[2], n[3], mine.plaquette, mine.found.iterations, mine.found.residual);
}

int main(int argc, char** argv) {
  return pgas::run<example::network_backends>(argc, argv, [](auto& team, auto arguments) {
    setting const s = read(arguments);
    if (s.halo == "puts") return run_with<lattice::halo_by_puts>(team, s);
    if (s.halo == "gets") return run_with<lattice::halo_by_gets>(team, s);
    throw std::runtime_error("lattice: there is no halo by " + example::in_quotes(s.halo) +
                             "; take puts or gets");
  });
}
// tools/run lattice --pgas-ranks 2:
//   lattice: 5945.2 Mflop/s, halo by puts
//   lattice: 8x4x4x8 sites, plaquette 0.720273347, 82 iterations, residual 9.11e-09, as a serial run
