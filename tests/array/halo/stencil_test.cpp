// SPDX-License-Identifier: BSL-1.0
// Stencils on distributed arrays equal a serial run bit for bit, on every model and number of ranks.
// test: threads in full
#include <algorithm>
#include <cstring>
#include <pgas/coherence/local_and_remote.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/exchange_halo.hpp>
#include <vector>

#include "support/mutated.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::edge;
using pgas::halo;
using pgas::make_array;
using pgas::stage;

namespace {

using index_t = std::ptrdiff_t;

double start_value(index_t i, index_t j) {
  return static_cast<double>((i * 7919 + j * 104729) % 1000) / 1024.0;
}
double boundary_value(index_t i, index_t j) { return static_cast<double>((i - j) % 5) / 8.0; }

/// The five-point stencil of heat; `u` is any view with ghost cells.
double heat(auto const& u, index_t i, index_t j) {
  return u(i, j) + 0.2 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
}

/// Moore's neighbourhood, nine points: Conway's rule.
unsigned char life(auto const& u, index_t i, index_t j) {
  int around = -u(i, j);
  for (index_t di = -1; di <= 1; ++di) {
    for (index_t dj = -1; dj <= 1; ++dj) around += u(i + di, j + dj);
  }
  return around == 3 || (around == 2 && u(i, j) != 0) ? 1 : 0;
}

/// All cells of an array on one rank, with one ghost cell around.
template <class T>
class serial_grid {
 public:
  serial_grid(std::size_t rows, std::size_t cols)
      : rows_(rows), cols_(cols), cells_((rows + 2) * (cols + 2)) {}

  T& operator()(index_t i, index_t j) {
    return cells_[static_cast<std::size_t>(i + 1) * (cols_ + 2) + static_cast<std::size_t>(j + 1)];
  }
  T const& operator()(index_t i, index_t j) const { return const_cast<serial_grid&>(*this)(i, j); }

  void fill_ghosts(edge edges, auto const& beyond) {
    auto const rows = static_cast<index_t>(rows_);
    auto const cols = static_cast<index_t>(cols_);
    for (index_t i = -1; i <= rows; ++i) {
      for (index_t j = -1; j <= cols; ++j) {
        if (i >= 0 && i < rows && j >= 0 && j < cols) continue;
        (*this)(i, j) =
            edges == edge::periodic ? (*this)((i + rows) % rows, (j + cols) % cols) : beyond(i, j);
      }
    }
  }

 private:
  std::size_t rows_;
  std::size_t cols_;
  std::vector<T> cells_;
};

struct problem {
  std::size_t rows;
  std::size_t cols;
  std::size_t width;
  edge edges;
  int steps;
};

/// Runs the stencil on all ranks, computing the interior while the exchange is pending, and serially.
/// Compares each rank's cells after each step.
template <class T, class Team, class Rule, class Start, class Beyond>
void compare(Team& team, problem const& p, Rule const& rule, Start const& start, Beyond const& beyond) {
  auto now = make_array<T>(team, {p.rows, p.cols}, halo{p.width, p.edges});
  auto next = make_array<T>(team, {p.rows, p.cols}, halo{p.width, p.edges});
  pgas::set_edges(now, beyond);
  pgas::set_edges(next, beyond);
  serial_grid<T> one(p.rows, p.cols);
  serial_grid<T> other(p.rows, p.cols);
  auto const first = static_cast<index_t>(now.first_row());
  auto const rows = static_cast<index_t>(now.local_rows());
  auto const cols = static_cast<index_t>(p.cols);
  {
    auto const cells = stage(now, pgas::write_only);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) cells(i, j) = start(first + i, j);
    }
  }
  for (index_t i = 0; i < static_cast<index_t>(p.rows); ++i) {
    for (index_t j = 0; j < cols; ++j) one(i, j) = start(i, j);
  }

  for (int step = 0; step < p.steps; ++step) {
    {
      auto const out = stage(next, pgas::write_only);
      auto const compute = [&](index_t from, index_t to, auto mode) {
        auto const in = stage(now, mode);
        for (index_t i = from; i < to; ++i) {
          bool const inner_row = i > 0 && i < rows - 1;
          for (index_t j = 0; j < cols; ++j) {
            bool const inner = inner_row && j > 0 && j < cols - 1;
            if (inner == (from == 1)) out(i, j) = rule(in, i, j);
          }
        }
      };
      auto pending = pgas::begin_exchange(now);
      compute(1, rows - 1, pgas::read_own);  // ghost cells arrive meanwhile
      pending.finish();
      compute(0, rows, pgas::read_only);
    }
    std::swap(now, next);

    one.fill_ghosts(p.edges, beyond);
    for (index_t i = 0; i < static_cast<index_t>(p.rows); ++i) {
      for (index_t j = 0; j < cols; ++j) other(i, j) = rule(one, i, j);
    }
    std::swap(one, other);

    auto const seen = stage(now, pgas::read_own);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) {
        if (std::memcmp(&seen(i, j), &one(first + i, j), sizeof(T)) != 0) {
          require_equal(seen(i, j), one(first + i, j),
                        "cell (" + std::to_string(first + i) + ", " + std::to_string(j) + ") after step " +
                            std::to_string(step) + " with a halo of " + std::to_string(p.width));
        }
      }
    }
  }
}

template <class Team>
void compare_heat(Team& team, problem const& p) {
  compare<double>(
      team, p, [](auto const& u, index_t i, index_t j) { return heat(u, i, j); }, start_value,
      boundary_value);
}
template <class Team>
void compare_life(Team& team, problem const& p) {
  compare<unsigned char>(
      team, p, [](auto const& u, index_t i, index_t j) { return life(u, i, j); },
      [](index_t i, index_t j) {
        return static_cast<unsigned char>((i * i + 3 * j * i + j) % 3 == 0 ? 1 : 0);
      },
      [](index_t, index_t) { return static_cast<unsigned char>(0); });
}

}  // namespace

TEST_CASE("stencil: heat with fixed edges equals a serial run, halos of 1 to 4") {
  everywhere([](auto& team) {
    for (std::size_t width : {1U, 2U, 3U, 4U}) compare_heat(team, {12, 9, width, edge::fixed, 4});
  });
}

TEST_CASE("stencil: heat on a torus equals a serial run, halos of 1 to 4") {
  everywhere([](auto& team) {
    for (std::size_t width : {1U, 2U, 3U, 4U}) compare_heat(team, {12, 9, width, edge::periodic, 4});
  });
}

TEST_CASE("stencil: life on a torus equals a serial run, halos of 1 to 4") {
  everywhere([](auto& team) {
    for (std::size_t width : {1U, 2U, 3U, 4U}) compare_life(team, {13, 10, width, edge::periodic, 5});
  });
}

TEST_CASE("stencil: more ranks than rows, single rows and single columns equal a serial run") {
  everywhere([](auto& team) {
    for (edge edges : {edge::fixed, edge::periodic}) {
      for (std::size_t width : {1U, 3U}) {
        compare_heat(team, {2, 6, width, edges, 3});
        compare_heat(team, {1, 1, width, edges, 3});
        compare_life(team, {5, 1, width, edges, 3});
        compare_life(team, {3, 4, width, edges, 3});
      }
    }
  });
}

TEST_CASE("stencil: many steps, in which ranks drift apart, equal a serial run") {
  everywhere([](auto& team) {
    compare_heat(team, {16, 5, 1, edge::periodic, 25});
    compare_life(team, {16, 5, 1, edge::periodic, 25});
  });
}

namespace {

/// True if one of 20 runs, each against another memory, differs from the serial run.
template <class Backend, class Coherence, class Compare>
bool fails(Compare const& compare) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    incoherent::against const misbehaviour({.seed = seed});
    pgas::scc::options how;
    how.check = false;
    pgas::scc::with_options const emulated(how.disturb(seed));
    try {
      pgas::run<Backend>(3, [&](auto& world) {
        auto team = world.template with<Coherence>();
        compare(team);
      });
    } catch (std::exception const&) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE(
    "stencil: on memory with private copies each step of the policy is needed, and all together are enough") {
  using policy = mutated<pgas::coherence::write_back>;
  if (!chosen(incoherent::backend::name)) return;
  auto const heat = [](auto& team) { compare_heat(team, {9, 5, 1, edge::periodic, 12}); };
  CHECK_FALSE(fails<incoherent::backend, policy>(heat));
  for (step const missing :
       {step::clean_own, step::drop_own, step::drain_stores, step::drain_all, step::fence_kind}) {
    lacking const mutant(missing);
    CHECK(fails<incoherent::backend, policy>(heat));
  }
}

TEST_CASE("stencil: the paper's shortcut, an own part cached without maintenance, gives a wrong automaton") {
  using namespace pgas::coherence;
  using chip = pgas::backends::scc;
  if (!chosen(chip::name)) return;
  auto const life = [](auto& team) { compare_life(team, {9, 5, 1, edge::periodic, 12}); };
  CHECK(fails<chip, local_and_remote<unsafe_none, write_through>>(life));
  CHECK_FALSE(fails<chip, local_and_remote<write_back, write_through>>(life));
}
