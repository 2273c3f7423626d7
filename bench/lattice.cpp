// SPDX-License-Identifier: BSL-1.0
// The conjugate gradients of examples/lattice, an iteration at a time, beside the same iteration with raw
// flags and copies on the same memory. By hand, a rank packs a face into its neighbour's memory and raises a
// flag; sums go through a slot of each rank. All ways call the same kernels.
#include <pgas/pgas.hpp>

#include "../examples/support/lattice/halo_by_gets.hpp"
#include "../examples/support/lattice/halo_by_puts.hpp"
#include "../examples/support/lattice/solver.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace {

namespace lattice = example::lattice;
using lattice::color_vector;
using lattice::exact_sum;
using lattice::half_field;

/// Ghosts and sums by raw flags: line `rank * 8 + d` of a meter is raised by the neighbour in direction d.
template <class Team>
class by_hand {
 public:
  by_hand(Team const& team, bench::meter const& m, lattice::geometry const& g)
      : g_(&g),
        self_(static_cast<std::size_t>(team.rank())),
        ranks_(static_cast<std::size_t>(team.size())),
        lines_(m.free_lines()),
        ghosts_(pgas::make_window<color_vector>(team, 2 * g.ghosts())),
        sums_(pgas::make_window<exact_sum>(team, 2 * slot)) {
    for (std::size_t d = 0; d < lattice::directions; ++d) flag(self_, d).store(0, std::memory_order_relaxed);
    sum_flag(self_).store(0, std::memory_order_relaxed);
    team.barrier();
  }

  void begin(half_field const& from, std::size_t parity) {
    ++step_;
    parity_ = parity;
    for (std::size_t d = 0; d < lattice::directions; ++d) {
      if (!g_->is_divided(d)) continue;
      auto const to = g_->neighbour(d);
      std::size_t const back = lattice::opposite(d);
      lattice::pack(g_->face(d, parity), parity * g_->half(), from,
                    ghosts_.part(to).data() + parity * g_->ghosts() + g_->ghost_begin(back));
      flag(static_cast<std::size_t>(to), back).store(step_, std::memory_order_release);
    }
  }
  [[nodiscard]] color_vector const* finish() {
    for (std::size_t d = 0; d < lattice::directions; ++d) {
      if (g_->is_divided(d)) bench::raw::spin_until(flag(self_, d), step_);
    }
    return ghosts_.local().data() + parity_ * g_->ghosts();
  }

  /// The sum over all ranks. Two slots take turns: a rank writes one again when all have read the other.
  [[nodiscard]] exact_sum sum(exact_sum const& mine) const {
    std::size_t const place = ++sums_made_ % 2 * slot;
    sums_.local()[place] = mine;
    sum_flag(self_).store(sums_made_, std::memory_order_release);
    exact_sum all;
    for (std::size_t r = 0; r < ranks_; ++r) {
      bench::raw::spin_until(sum_flag(r), sums_made_);
      all = all + sums_.part(static_cast<pgas::rank_t>(r))[place];
    }
    return all;
  }
  void work(std::size_t) const {}

 private:
  static constexpr std::size_t slot = 8;  ///< sums on two lines

  [[nodiscard]] auto flag(std::size_t rank, std::size_t d) const {
    return lines_.at(rank * lattice::directions + d);
  }
  [[nodiscard]] auto sum_flag(std::size_t rank) const {
    return lines_.at(ranks_ * lattice::directions + rank);
  }

  lattice::geometry const* g_;
  std::size_t self_;
  std::size_t ranks_;
  bench::raw::lines lines_;
  decltype(pgas::make_window<color_vector>(std::declval<Team const&>(), 1)) ghosts_;
  decltype(pgas::make_window<exact_sum>(std::declval<Team const&>(), 1)) sums_;
  std::uint64_t step_ = 0;
  mutable std::uint64_t sums_made_ = 0;
  std::size_t parity_ = 0;
};

/// Sums as examples/lattice forms them.
template <class Team>
struct team_ranks {
  Team const* team;

  [[nodiscard]] exact_sum sum(exact_sum const& mine) const {
    return team->all_reduce(mine, [](auto const& a, auto const& b) { return a + b; });
  }
  void work(std::size_t) const {}
};

/// Iterations that begin anew before the residual becomes too small for a number.
template <class Halo, class Ranks>
class iterations {
 public:
  iterations(lattice::geometry const& g, std::span<lattice::site_links const> links, Halo& halo,
             Ranks const& ranks)
      : solver_(g, links, halo, ranks, 0.2),
        b_(lattice::random_source(g)),
        q_(b_.size()),
        first_square_(ranks.sum(lattice::dot(b_, b_)).value()) {}

  void step() {
    if (made_++ % 30 == 0) {
      x_.assign(b_.size(), {});
      r_ = p_ = b_;
      square_ = first_square_;
    }
    solver_.step(x_, r_, p_, q_, square_);
  }

 private:
  lattice::solver<Halo, Ranks> solver_;
  half_field b_, x_, r_, p_, q_;
  double first_square_;
  double square_ = 0;
  std::size_t made_ = 0;
};

template <class Team>
void measure(Team& team, bench::meter& m) {
  auto const ranks = pgas::grid<lattice::dimensions>(0, 0, 0, 0).over(team.size());
  lattice::geometry const g({4, 4, 4, 8}, ranks, team.rank());
  lattice::link_field field{lattice::random_links(g)};
  lattice::get_ghosts(team, g, field);
  auto const links = lattice::make_site_links(g, field);

  team_ranks<Team> const sums{&team};
  lattice::halo_by_puts<Team> puts(team, g);
  lattice::halo_by_gets<Team> gets(team, g);
  by_hand<Team> hand(team, m, g);
  iterations with_puts(g, links, puts, sums);
  iterations with_gets(g, links, gets, sums);
  iterations by_flags(g, links, hand, hand);
  bench::row_key const key{.row = "lattice", .mode = "4 x 4 x 4 x 8"};
  m.measure(key, {bench::everybody("", [&] { with_puts.step(); }),
                  bench::everybody("flags and gets", [&] { with_gets.step(); }),
                  bench::everybody("flags by hand", [&] { by_flags.step(); })});
  team.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { measure(team, m); });
  return 0;
}
