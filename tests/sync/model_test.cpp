// SPDX-License-Identifier: BSL-1.0
// The promises of the cost model: lines fitted to measurements, and the choice of the cheaper way.
// test: optimized, unit protocols
#include <pgas/performance_model.hpp>

#include <cmath>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::cost;

namespace {

using points = std::vector<std::pair<double, double>>;

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b) + 1e-15; }

}  // namespace

TEST_CASE("model: a fit of points on a line returns that line, at any scale") {
  random_source rng(7);
  for (int round = 0; round < 200; ++round) {
    double const base = 1e-9 * static_cast<double>(rng.below(100'000));
    double const slope = 1e-12 * static_cast<double>(1 + rng.below(100'000));
    points all;
    for (std::size_t i = 0; i < 2 + rng.below(6); ++i) {
      auto const size = static_cast<double>(std::size_t{1} << (2 * i + rng.below(2)));
      all.emplace_back(size, base + slope * size);
    }
    cost const c = cost::fitted(all);
    CHECK(close(c.slope, slope));
    CHECK(close(c(5000), base + slope * 5000));
  }
}

TEST_CASE("model: no part of a cost is negative, and few points are no error") {
  CHECK(cost::fitted({})(8) == 0);
  CHECK(cost::fitted(points{{8, 3e-6}})(8) == 3e-6);
  CHECK(cost::fitted(points{{8, 3e-6}})(800) == 3e-6);
  cost const falling = cost::fitted(points{{1, 4e-6}, {2, 3e-6}, {3, 2e-6}});
  CHECK(falling.slope == 0);
  CHECK(falling.base > 2e-6);
  CHECK(falling.base < 4e-6);
  cost const steep = cost::fitted(points{{1, 1e-9}, {2, 1e-6}, {3, 1e-3}});
  CHECK(steep.base >= 0);
  CHECK(steep.slope >= 0);
}

TEST_CASE("model: with foMPI's numbers, post and start is cheaper for few neighbours and fence for many") {
  // Gerstenberger 2014, section 3: a fence takes 2.9 us log2 p; a post and a complete take 350 ns a
  // neighbour; start takes 0.7 us and wait 1.8 us.
  pgas::model m;
  m.fence = {.base = 0, .slope = 2.9e-6};
  m.neighbours = {.base = 0.7e-6 + 1.8e-6, .slope = 2 * 350e-9};
  CHECK(m.best_round(2, 1) == pgas::model::round::fence);
  CHECK(m.best_round(1024, 2) == pgas::model::round::neighbours);
  CHECK(m.best_round(1024, 1000) == pgas::model::round::fence);
  for (pgas::rank_t const ranks : {2, 3, 16, 1000}) {
    for (std::size_t k = 0; k < 100; ++k) {
      CHECK(m.seconds(m.best_round(ranks, k), ranks, k) <=
            std::min(m.seconds(pgas::model::round::fence, ranks, k),
                     m.seconds(pgas::model::round::neighbours, ranks, k)));
    }
  }
  CHECK(m.seconds(pgas::model::round::fence, 1024, 3) == doctest::Approx(29e-6));
  CHECK(m.seconds(pgas::model::round::fence, 1025, 3) == doctest::Approx(31.9e-6));
}

TEST_CASE("model: measured values are the same on every rank, and consistent") {
  using without_locks =
      pgas::protocols<pgas::default_fence, pgas::sync::match_vector, pgas::sync::shared_only>;
  everywhere<std::tuple<self_model, process_model, loopback_model, scc_model,
                        model<pgas::backends::process_map, pgas::coherence::coherent, without_locks>>>(
      []<class Team>(Team& team) {
        auto const m = pgas::measure_model(team);
        for (auto const seconds : {m.put(8), m.get(8), m.accumulate(8), m.fence(1), m.lock_all(team.size())})
          require(seconds > 0 && seconds < 1, "a cost is more than nothing and less than a second");
        require(m.put(128) <= 2 * m.put(64), "two puts cost at least as much as one of both sizes");
        require(m.get(128) <= 2 * m.get(64), "two gets cost at least as much as one of both sizes");
        require((team.size() > 1) == (m.neighbours(1) > 0), "neighbours cost something if there are any");
        require(m.lock_shared.has_value() == pgas::target_lock_protocol<typename Team::protocols_type::lock>,
                "locks are measured if the protocol has them");
        if (m.lock_shared)
          require(m.lock_shared->base > 0 && m.lock_exclusive->base > 0, "a lock costs something");
        auto const zero = team.broadcast(m);
        require(zero.put.base == m.put.base && zero.neighbours.slope == m.neighbours.slope,
                "all ranks have rank 0's values");
      },
      {1, 2, 5});
}
