// SPDX-License-Identifier: BSL-1.0
// The parts of examples/lattice and examples/dsde that need no ranks.
// test: addresses, unit examples
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../examples/support/dsde/problem.hpp"
#include "../../examples/support/lattice/exact_sum.hpp"
#include "../../examples/support/lattice/geometry.hpp"
#include "../../examples/support/lattice/su3.hpp"

namespace {

namespace lattice = example::lattice;
namespace dsde = example::dsde;
using lattice::complex;
using lattice::su3_matrix;

class matrices {
 public:
  su3_matrix any() {
    su3_matrix m{};
    for (auto& row : m) row = vector();
    return m;
  }
  su3_matrix of_group() { return lattice::reunitarized(any()); }
  lattice::color_vector vector() {
    lattice::color_vector v{};
    for (complex& c : v) c = {draw_(random_), draw_(random_)};
    return v;
  }

 private:
  std::mt19937_64 random_{17};
  std::uniform_real_distribution<double> draw_{-1, 1};
};

double distance(su3_matrix const& a, su3_matrix const& b) {
  double most = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) most = std::max(most, std::sqrt(lattice::square(a[i][j] - b[i][j])));
  return most;
}
double distance(complex a, complex b) { return std::sqrt(lattice::square(a - b)); }

}  // namespace

TEST_CASE("su3: a re-unitarized matrix is unitary and has determinant 1") {
  matrices next;
  for (int k = 0; k < 100; ++k) {
    su3_matrix const u = next.of_group();
    CHECK(distance(lattice::product(u, lattice::adjoint(u)), lattice::identity()) < 1e-13);
    CHECK(distance(lattice::determinant(u), {1, 0}) < 1e-13);
    CHECK(distance(lattice::reunitarized(u), u) < 1e-13);  // it is a projection
  }
}

TEST_CASE("su3: the group is closed, and products are associative") {
  matrices next;
  for (int k = 0; k < 100; ++k) {
    su3_matrix const a = next.of_group();
    su3_matrix const b = next.of_group();
    su3_matrix const c = next.of_group();
    su3_matrix const ab = lattice::product(a, b);
    CHECK(distance(lattice::reunitarized(ab), ab) < 1e-13);
    CHECK(distance(lattice::product(ab, c), lattice::product(a, lattice::product(b, c))) < 1e-13);
    CHECK(distance(lattice::adjoint(ab), lattice::product(lattice::adjoint(b), lattice::adjoint(a))) < 1e-13);
    CHECK(distance(lattice::trace(ab), lattice::trace(lattice::product(b, a))) < 1e-13);
  }
}

TEST_CASE("su3: a matrix acts on vectors as its products do, and keeps lengths") {
  matrices next;
  for (int k = 0; k < 100; ++k) {
    su3_matrix const a = next.of_group();
    su3_matrix const b = next.of_group();
    lattice::color_vector const v = next.vector();
    lattice::color_vector bv{};
    lattice::color_vector abv{};
    lattice::color_vector product{};
    lattice::add_product(bv, b, v);
    lattice::add_product(abv, a, bv);
    lattice::add_product(product, lattice::product(a, b), v);
    for (std::size_t i = 0; i < 3; ++i) CHECK(distance(abv[i], product[i]) < 1e-13);
    CHECK(std::abs(lattice::inner(bv, bv).re - lattice::inner(v, v).re) < 1e-13);
    lattice::color_vector const before = bv;
    lattice::add_product(bv, -1.0 * b, v);  // adds to what is there
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(distance(bv[i], {0, 0}) < 1e-13);
      CHECK(distance(before[i], {0, 0}) > 0);
    }
  }
}

TEST_CASE("exact_sum: the order of terms of any size and sign changes no bit") {
  std::mt19937_64 random(5);
  std::vector<double> terms;
  for (int k = 0; k < 2000; ++k) {
    double const sign = k % 2 == 0 ? 1 : -1;
    terms.push_back(sign * std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), k % 60 - 40));
  }
  terms.insert(terms.end(), {-1e-30, 1e-30, 0.0, -0.0, -0x1p-80, 0x1p-80});
  auto const sum_of = [](auto const& all) {
    lattice::exact_sum sum;
    for (double const t : all) sum.add(t);
    return sum;
  };
  lattice::exact_sum const sum = sum_of(terms);
  for (int k = 0; k < 20; ++k) {
    std::shuffle(terms.begin(), terms.end(), random);
    CHECK(sum_of(terms) == sum);
    auto const half = terms.begin() + 700;
    CHECK(sum_of(std::vector(terms.begin(), half)) + sum_of(std::vector(half, terms.end())) == sum);
  }
}

TEST_CASE("exact_sum: sums that a double can hold are exact, negative ones too") {
  lattice::exact_sum sum;
  for (int k = 0; k < 1000; ++k) sum.add(-0.125);
  CHECK(sum.value() == -125.0);
  sum.add(125.0);
  CHECK(sum == lattice::exact_sum());
  sum.add(0x1p-80);
  CHECK(sum.value() == 0x1p-80);
  sum.add(-0x1p+40);
  CHECK(sum.value() == -0x1p+40);  // rounded
  sum.add(0x1p+40);
  CHECK(sum.value() == 0x1p-80);
}

TEST_CASE(
    "geometry: a step forwards and one back lead to the same site, which has the other parity between") {
  lattice::geometry const g({4, 2, 6, 2}, pgas::grid<4>(1, 1, 1, 1), 0);
  CHECK(g.ghosts() == 0);
  CHECK(g.boundary(0).empty());
  for (std::size_t i = 0; i < g.sites(); ++i) {
    for (std::size_t d = 0; d < lattice::directions; ++d) {
      std::size_t const there = g.next(i)[d];
      CHECK((i < g.half()) != (there < g.half()));
      CHECK(g.next(there)[lattice::opposite(d)] == i);
      auto at = g.global(i);
      std::size_t const extent = g.extent(d / 2);
      at[d / 2] = (at[d / 2] + (d % 2 == 0 ? 1 : extent - 1)) % extent;
      CHECK(g.global(there) == at);
    }
  }
}

TEST_CASE("geometry: a ghost is the site that its owner's face has at the same number") {
  pgas::grid<4> const ranks(2, 1, 3, 2);
  std::vector<lattice::geometry> all;
  all.reserve(static_cast<std::size_t>(ranks.size()));
  for (pgas::rank_t r = 0; r < ranks.size(); ++r)
    all.emplace_back(lattice::coordinates{2, 4, 2, 4}, ranks, r);
  std::size_t ghosts_met = 0;
  std::set<lattice::coordinates> met;
  for (auto const& g : all) {
    for (std::size_t i = 0; i < g.sites(); ++i) {
      met.insert(g.global(i));
      std::size_t const parity = i < g.half() ? 0 : 1;
      for (std::size_t d = 0; d < lattice::directions; ++d) {
        if (g.next(i)[d] < g.sites()) continue;
        ++ghosts_met;
        std::size_t const number = g.next(i)[d] - g.sites() - g.ghost_begin(d);
        auto const& owner = all[static_cast<std::size_t>(g.neighbour(d))];
        auto const face = owner.face(lattice::opposite(d), 1 - parity);
        REQUIRE(number < face.size());
        auto at = g.global(i);
        std::size_t const extent = g.all_extents()[d / 2];
        at[d / 2] = (at[d / 2] + (d % 2 == 0 ? 1 : extent - 1)) % extent;
        CHECK(owner.global(face[number]) == at);
      }
    }
  }
  CHECK(met.size() == all.size() * all[0].sites());
  CHECK(ghosts_met == 2 * all.size() * all[0].ghosts());
}

TEST_CASE("dsde: a rank sends to as many others as are wanted, and all items are for somebody, once") {
  dsde::problem const p{.neighbours = 3, .items = 2};
  for (pgas::rank_t const ranks : {1, 2, 5}) {
    std::vector<dsde::item> sent;
    std::vector<dsde::item> received;
    for (pgas::rank_t r = 0; r < ranks; ++r) {
      std::set<pgas::rank_t> targets;
      for (auto const& d : dsde::deliveries_of(p, r, ranks, 7)) {
        CHECK(d.to != r);
        targets.insert(d.to);
        sent.insert(sent.end(), d.items.begin(), d.items.end());
      }
      CHECK(targets.size() == std::min<std::size_t>(3, static_cast<std::size_t>(ranks) - 1));
      auto const mine = dsde::items_for(p, r, ranks, 7);
      received.insert(received.end(), mine.begin(), mine.end());
    }
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    CHECK(sent == received);
    CHECK(std::adjacent_find(sent.begin(), sent.end()) == sent.end());
  }
}
