// SPDX-License-Identifier: BSL-1.0
// The kernels of examples/, written as there, each beside loops with raw pointers and flags on the same
// memory.
#include <cmath>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stencil.hpp>

#include "../examples/support/add_transposed.hpp"
#include "../examples/support/conjugate_gradient.hpp"
#include "../examples/support/rows_times.hpp"
#include "kernels.hpp"
#include "program.hpp"

namespace {

using pgas::stage;

/// One rank's end of a hand-written barrier of two ranks.
bench::raw::pair_barrier barrier_by_hand(bench::meter const& m) {
  auto const lines = m.free_lines();
  auto const self = static_cast<std::size_t>(m.rank());
  if (self == 0) {
    lines.at(0).store(0, std::memory_order_relaxed);
    lines.at(1).store(0, std::memory_order_relaxed);
  }
  m.align();
  return {lines.at(self), lines.at(1 - self)};
}

template <class Team>
void gups(Team& team, bench::meter& m) {
  namespace kernel = bench::gups;
  auto const table = pgas::make_array<std::uint64_t>(team, kernel::words);
  pgas::fill(table, 1);
  // The parts of an array do not adjoin, so the hand-written loop has a table of its own, on rank 0.
  auto const other = pgas::make_window<std::uint64_t>(team, team.rank() == 0 ? kernel::words : 0);
  std::uint64_t* const whole = other.part(0).data();
  std::uint64_t ours = kernel::first_of(team.rank());
  std::uint64_t by_hand = ours;

  // Computes the places first: a look-up that waits for the atomic operation before it takes twice as long.
  struct update {
    std::pair<pgas::rank_t, std::size_t> place;
    std::uint64_t value;
  };
  std::vector<update> batch(kernel::under_way);
  constexpr std::size_t ahead = 32;  // as many lines as a core fetches at a time
  pgas::lock_all epoch{table};
  std::vector<decltype(epoch.to(0))> parts;
  for (int r = 0; r < team.size(); ++r) parts.push_back(epoch.to(r));
  m.measure(kernel::key(team.size()),
            {bench::all_of(m, "",
                           [&] {
                             std::uint64_t x = ours;
                             for (auto& u : batch) {
                               x = kernel::next(x);
                               u = {table.layout().owner_and_offset({x % kernel::words}), x};
                             }
                             auto const part_of = [&](update const& u) -> auto const& {
                               return parts[static_cast<std::size_t>(u.place.first)];
                             };
                             for (std::size_t k = 0; k < batch.size(); ++k) {
                               auto const& later = batch[std::min(k + ahead, batch.size() - 1)];
                               part_of(later).prefetch(later.place.second);
                               auto const& [place, value] = batch[k];
                               part_of(batch[k]).accumulate(place.second, value, pgas::op::bit_xor{});
                             }
                             epoch.flush_all();
                             ours = x;
                           }),
             bench::all_of(m, "atomic", [&] { by_hand = kernel::update(whole, by_hand); })});
}

/// On 2 x 1 ranks: one rank has the upper half of the rows, the other the lower half.
template <class Team>
class star {
  static auto make(Team& team, std::size_t order, std::size_t width) {
    pgas::halos<2> const around{pgas::halo{.width = width}};
    return pgas::make_array<double>(team, {order, order}, pgas::tiled{pgas::block{}, pgas::block{}},
                                    around.without_corners());
  }
  using array = decltype(make(std::declval<Team&>(), 1, 1));
  static constexpr std::size_t radius = bench::star::radius;

 public:
  star(Team& team, bench::meter& m, std::size_t order)
      : m_(m),
        upper_(team.rank() == 0),
        order_(order),
        in_(make(team, order, radius)),
        out_(make(team, order, 0)),
        rows_(in_.local_rows()),
        pitch_(in_.local_place().pitches[0]),
        other_(in_.window().part(upper_ ? 1 : 0).data() + in_.layout().origin(upper_ ? 1 : 0)),
        met_(barrier_by_hand(m)) {
    pgas::for_each_index(in_,
                         [](auto const& at, double& cell) { cell = static_cast<double>(at[0] + at[1]); });
    team.barrier();
  }

  void all() {
    auto const by_hand = [this] { return bench::all_of(m_, "flags by hand", [this] { step_by_hand(); }); };
    m_.measure(bench::star::key(order_), {bench::all_of(m_, "", [this] { step_by_pointer(); }), by_hand()});
    auto key = bench::star::key(order_);
    key.row += " by u(i, j)";
    m_.measure(key, {bench::all_of(m_, "", [this] { step_by_index(); }), by_hand()});
  }

 private:
  // The rows that need no row of the other rank, and the two that do: the last ones of the upper half, or the
  // first ones of the lower.
  [[nodiscard]] std::size_t first_inner() const { return radius; }
  [[nodiscard]] std::size_t inner() const { return rows_ - 2 * radius; }
  [[nodiscard]] std::size_t first_edge() const { return upper_ ? rows_ - radius : 0; }

  /// Uses the loop of the baseline.
  void step_by_pointer() {
    {
      auto const v = stage(out_, pgas::read_write);
      auto const add = [&](auto const& u, std::size_t first, std::size_t rows) {
        bench::star::add(&v(first, radius), out_.local_place().pitches[0], &u(first, radius), pitch_, rows,
                         order_ - 2 * radius);
      };
      auto edges = pgas::begin_exchange(in_);
      add(stage(in_, pgas::read_own), first_inner(), inner());
      edges.finish();
      add(stage(in_, pgas::read_only), first_edge(), radius);
    }
    bench::star::increment(stage(in_, pgas::read_write).data(), pitch_, rows_, order_);
  }

  /// Written as in examples/stencil.
  void step_by_index() {
    {
      auto edges = pgas::begin_exchange(in_);
      add_by_index(out_, in_, first_inner(), inner());
      edges.finish();
      add_by_index(out_, in_, first_edge(), radius);
    }
    pgas::for_each(in_, [](double& cell) { cell += 1; });
  }
  [[gnu::noinline]] static void add_by_index(array const& out, array const& in, std::size_t first,
                                             std::size_t rows) {
    auto const v = stage(out, pgas::read_write);
    auto const u = stage(in, pgas::read_only);
    for (std::size_t i = first; i < first + rows; ++i)
      for (std::size_t j = radius; j < in.extent(1) - radius; ++j)
        v(i, j) += 0.25 * (u(i + 1, j) - u(i - 1, j) + u(i, j + 1) - u(i, j - 1)) +
                   0.125 * (u(i + 2, j) - u(i - 2, j) + u(i, j + 2) - u(i, j - 2));
  }

  void step_by_hand() {
    double* const u = in_.local().data_handle();
    double* const v = out_.local().data_handle();
    std::size_t const cols = order_ - 2 * radius;
    std::size_t const first = upper_ ? radius : 0;
    met_.pass();
    for (std::size_t r = 0; r < radius; ++r) {
      if (upper_) {
        std::memcpy(other_ - (radius - r) * pitch_, u + (rows_ - radius + r) * pitch_,
                    order_ * sizeof(double));
      } else {
        std::memcpy(other_ + (rows_ + r) * pitch_, u + r * pitch_, order_ * sizeof(double));
      }
    }
    met_.pass();
    bench::star::add(v + first * order_ + radius, order_, u + first * pitch_ + radius, pitch_, rows_ - radius,
                     cols);
    bench::star::increment(u, pitch_, rows_, order_);
  }

  bench::meter& m_;
  bool upper_;
  std::size_t order_;
  array in_;
  array out_;
  std::size_t rows_;
  std::size_t pitch_;
  double* other_;
  bench::raw::pair_barrier met_;
};

/// On 2 x 1 x 1 ranks: one rank has the upper half of the planes, the other the lower half.
template <class Team>
void heat3d(Team& team, bench::meter& m, std::size_t side) {
  using pgas::offset;
  using neighbours = pgas::stencil<offset<0, 0, 0>, offset<-1, 0, 0>, offset<1, 0, 0>, offset<0, -1, 0>,
                                   offset<0, 1, 0>, offset<0, 0, -1>, offset<0, 0, 1>>;
  pgas::halos<3> const around{pgas::halo{.width = 1}};
  auto const make = [&] {
    auto cells = pgas::make_array<double>(team, {side, side, side},
                                          pgas::tiled{pgas::block{}, pgas::block{}, pgas::block{}},
                                          around.without_corners());
    pgas::fill(cells, 1.0);
    return cells;
  };
  auto now = make();
  auto next = make();
  auto const ours = [&] {
    neighbours::apply(now, next, [](double u, double a, double b, double c, double d, double e, double f) {
      return u + 0.1 * (a + b + c + d + e + f - 6 * u);
    });
    std::swap(now, next);
  };

  auto met = barrier_by_hand(m);
  bool const upper = team.rank() == 0;
  std::size_t const planes = now.local_rows();
  std::size_t const plane = now.local_place().pitches[0];
  std::size_t const pitch = now.local_place().pitches[1];
  std::size_t const face = (side - 1) * pitch + side;
  auto const by_hand = [&] {
    double* const u = now.local().data_handle();
    double* const other = now.window().part(upper ? 1 : 0).data() + now.layout().origin(upper ? 1 : 0);
    met.pass();
    if (upper) {
      std::memcpy(other - plane, u + (planes - 1) * plane, face * sizeof(double));
    } else {
      std::memcpy(other + planes * plane, u, face * sizeof(double));
    }
    met.pass();
    bench::cube::relax(next.local().data_handle(), u, planes, side, plane, pitch);
    std::swap(now, next);
  };
  // Both ranks swap the arrays, and leave a state from which the other can continue.
  m.measure(bench::cube::key(side), {bench::all_of(m, "", ours), bench::all_of(m, "flags by hand", by_hand)});
}

template <class Team>
void nstream(Team& team, bench::meter& m, std::size_t cells) {
  auto const make = [&] {
    auto some = pgas::make_array<double>(team, cells);
    pgas::fill(some, 2.0);
    return some;
  };
  auto const a = make();
  auto const b = make();
  auto const c = make();
  auto const ours = [&] {
    auto const to = stage(a, pgas::read_write);
    auto const x = stage(b, pgas::read_only);
    auto const y = stage(c, pgas::read_only);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += x[i] + 3 * y[i];
  };
  auto const by_hand = [&] {
    bench::triad::add(a.window().part(team.rank()).data(), b.window().part(team.rank()).data(),
                      c.window().part(team.rank()).data(), a.own_box().count[0]);
  };
  m.measure(bench::triad::key(cells), {bench::all_of(m, "", ours), bench::all_of(m, "loop", by_hand)});
}

template <class Team>
void transpose(Team& team, bench::meter& m, std::size_t order) {
  auto const a = pgas::make_array<double>(team, {order, order});
  auto const b = pgas::make_array<double>(team, {order, order});
  pgas::fill(a, 1);
  pgas::fill(b, 1);
  auto const [first, count] = b.own_box();
  auto const ours = [&] {
    example::add_transposed(a, b);
    pgas::for_each(a, [](double& cell) { cell += 1; });
  };

  auto met = barrier_by_hand(m);
  auto const by_hand = [&, first = first, count = count] {
    met.pass();
    double* const to = b.local().data_handle();
    for (int r = 0; r < 2; ++r) {
      auto const theirs = a.box_of(r);
      bench::transposed::add(to + theirs.first[0], a.window().part(r).data() + first[0], theirs.count[0],
                             count[0], order);
    }
    met.pass();
    bench::star::increment(a.local().data_handle(), order, count[0], order);
  };
  m.measure(bench::transposed::key(order),
            {bench::all_of(m, "", ours), bench::all_of(m, "blocks by hand", by_hand)});
}

/// Uses the loop of the baseline. Written as in examples/matmul, the compiler does not know that c is neither
/// a nor b.
template <class Team>
void matmul(Team& team, bench::meter& m) {
  namespace kernel = bench::product;
  constexpr std::size_t order = kernel::order;
  constexpr std::size_t width = kernel::width;
  auto const make = [&] {
    auto some = pgas::make_array<double>(team, {order, order}, pgas::tiled{pgas::block{}, pgas::block{}});
    pgas::fill(some, 1.0);
    return some;
  };
  auto const a = make();
  auto const b = make();
  auto const c = make();
  auto const [first, count] = c.own_box();
  auto const ours = [&, first = first, count = count] {
    std::vector<double> x(count[0] * width);
    std::vector<double> y(width * count[1]);
    pgas::fence left{a, pgas::read_only};
    pgas::fence right{b, pgas::read_only};
    auto const tile = stage(c, pgas::read_write);
    for (std::size_t k = 0; k < order; k += width) {
      left.get({{first[0], k}, {count[0], width}}, x);
      right.get({{k, first[1]}, {width, count[1]}}, y);
      left.flush_local_all();
      right.flush_local_all();
      kernel::add(tile.data(), x.data(), width, y.data(), count[0]);
    }
  };

  // Of two ranks, one has the upper half of the rows, the other the lower half.
  auto met = barrier_by_hand(m);
  constexpr std::size_t half = order / 2;
  auto const by_hand = [&] {
    met.pass();
    for (std::size_t k = 0; k < order; k += width) {
      kernel::add(c.local().data_handle(), a.local().data_handle() + k, order,
                  b.window().part(k < half ? 0 : 1).data() + k % half * order, half);
    }
    met.pass();
  };
  m.measure(kernel::key(), {bench::all_of(m, "", ours), bench::all_of(m, "panels by hand", by_hand)});
}

template <class Team>
void matvec(Team& team, bench::meter& m, std::size_t order) {
  auto const a = pgas::make_array<double>(team, {order, order}, pgas::tiled{pgas::block{}, pgas::block{}});
  auto const x = pgas::make_array<double>(team, order);
  auto const y = pgas::make_array<double>(team, order);
  pgas::fill(a, 1.0);
  pgas::fill(x, 1.0);
  auto const [first, count] = a.own_box();
  std::vector<double> factors(count[1]);
  std::vector<double> sums(count[0]);
  auto const ours = [&, first = first, count = count] {
    {
      pgas::fence epoch{x, pgas::read_only};
      epoch.get(first[1], factors);
    }
    if (auto const tile = stage(a, pgas::read_only); true) example::rows_times(tile, factors, sums);
    pgas::fence epoch{y, pgas::write_only};
    epoch.accumulate({{first[0]}, {count[0]}}, sums);
  };

  // By hand each of the two ranks has its rows and a copy of x.
  auto met = barrier_by_hand(m);
  std::vector<double> all(order);
  auto const by_hand = [&, count = count] {
    met.pass();
    for (int r = 0; r < 2; ++r) {
      auto const theirs = x.box_of(r);
      std::memcpy(all.data() + theirs.first[0], x.window().part(r).data(), theirs.count[0] * sizeof(double));
    }
    bench::product::add_rows(y.window().part(team.rank()).data(), a.local().data_handle(), all.data(),
                             count[0], order);
    met.pass();
  };
  m.measure(bench::product::vector_key(order),
            {bench::all_of(m, "", ours), bench::all_of(m, "rows by hand", by_hand)});
}

template <class Team>
void cg(Team& team, bench::meter& m, bench::cg::problem const& problem) {
  example::conjugate_gradient equations(team, problem);
  std::vector<double> const x(equations.rows(), 1.0);
  std::vector<double> z(x.size());

  // The hand-written version also copies the other rank's half of p, since reading it in place takes longer.
  // Sums use two sets of lines in turn. A rank writes a set again only after a barrier, at which the other
  // has read it.
  auto const shared = pgas::make_window<double>(team, team.rank() == 0 ? problem.order : 0);
  std::size_t const half = problem.order / 2;
  double* const here = shared.part(0).data() + (team.rank() == 0 ? 0 : half);
  double const* const there = shared.part(0).data() + (team.rank() == 0 ? half : 0);
  std::vector<double> all(problem.order);
  double* const p = all.data() + (team.rank() == 0 ? 0 : half);
  double* const others = all.data() + (team.rank() == 0 ? half : 0);
  auto const lines = m.free_lines().from(2);
  auto met = barrier_by_hand(m);
  std::size_t sums = 0;
  auto const sum = [&](double mine) {
    auto const set = lines.from(2 * (sums++ % 2));
    set.at(static_cast<std::size_t>(team.rank()))
        .store(std::bit_cast<std::uint64_t>(mine), std::memory_order_relaxed);
    met.pass();
    auto const of = [&](std::size_t r) {
      return std::bit_cast<double>(set.at(r).load(std::memory_order_relaxed));
    };
    return of(0) + of(1);
  };
  std::vector<double> q(x.size());
  std::vector<double> r(x.size());
  auto const& matrix = equations.matrix();
  auto const exchange = [&] {
    std::memcpy(here, p, half * sizeof(double));
    met.pass();
    std::memcpy(others, there, half * sizeof(double));
  };
  auto const by_hand = [&] {
    double mine = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      z[i] = 0;
      r[i] = p[i] = x[i];
      mine += x[i] * x[i];
    }
    double rho = sum(mine);
    for (int step = 0; step < bench::cg::steps; ++step) {
      exchange();
      mine = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        q[i] = matrix.times(i, all.data());
        mine += p[i] * q[i];
      }
      double const alpha = rho / sum(mine);
      mine = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        z[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        mine += r[i] * r[i];
      }
      double const before = std::exchange(rho, sum(mine));
      for (std::size_t i = 0; i < x.size(); ++i) p[i] = r[i] + rho / before * p[i];
    }
    std::copy(z.begin(), z.end(), p);
    exchange();
    mine = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double const off = x[i] - matrix.times(i, all.data());
      mine += off * off;
    }
    bench::keep(std::sqrt(sum(mine)));
  };
  m.measure(bench::cg::key(problem), {bench::all_of(m, "", [&] { bench::keep(equations.solve(x, z)); }),
                                      bench::all_of(m, "flags by hand", by_hand)});
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    gups(team, m);
    for (std::size_t const order : bench::star::orders) star(team, m, order).all();
    for (std::size_t const side : bench::cube::sides) heat3d(team, m, side);
    for (std::size_t const cells : bench::triad::sizes) nstream(team, m, cells);
    for (std::size_t const order : bench::transposed::orders) transpose(team, m, order);
    matmul(team, m);
    for (std::size_t const order : bench::product::vector_orders) matvec(team, m, order);
    for (auto const* name : bench::cg::classes(m.quick())) cg(team, m, example::nas::cg::problem_of(name));
  });
  return 0;
}
