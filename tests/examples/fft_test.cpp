// SPDX-License-Identifier: BSL-1.0
// The foundations of the examples fft3d and fft_image: distributed transforms, and the numbers that the NAS
// benchmark FT prescribes.
// test: unit examples
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numbers>
#include <pgas/coherence/unsafe_none.hpp>
#include <string>
#include <vector>

#include "../../examples/support/distributed_fft.hpp"
#include "../../examples/support/nas_ft.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using example::cell;

namespace {

/// Direct memory, memory reached by messages, and memory that does not agree by itself.
using kinds_of_memory = std::tuple<process_model, loopback_model, write_back_model>;

using space = std::array<std::size_t, 3>;

/// A different number for each cell.
cell some(std::size_t i) {
  example::nas::random next(2 * i);
  double const real = next();
  return {real, next()};
}

/// One coefficient, computed by its definition.
cell coefficient(space const& n, space const& k) {
  cell sum = 0;
  for (std::size_t z = 0; z < n[0]; ++z) {
    for (std::size_t y = 0; y < n[1]; ++y) {
      for (std::size_t x = 0; x < n[2]; ++x) {
        double const turns = static_cast<double>(z * k[0] % n[0]) / static_cast<double>(n[0]) +
                             static_cast<double>(y * k[1] % n[1]) / static_cast<double>(n[1]) +
                             static_cast<double>(x * k[2] % n[2]) / static_cast<double>(n[2]);
        sum += some((z * n[1] + y) * n[2] + x) * std::polar(1.0, -2 * std::numbers::pi * turns);
      }
    }
  }
  return sum;
}

template <class Array, class Use>
void each_own_cell(Array const& a, Use const& use) {
  auto const cells = pgas::stage(a, pgas::read_write);
  auto const own = a.local_extents();
  for (std::size_t i = 0; i < own[0]; ++i)
    for (std::size_t j = 0; j < own[1]; ++j)
      for (std::size_t k = 0; k < own[2]; ++k) use(a.global_index(i, j, k), cells(i, j, k));
}

void require_near(cell found, cell expected, std::string_view what) {
  if (!(std::abs(found - expected) < 1e-12 * (1 + std::abs(expected)))) require_equal(found, expected, what);
}

/// The transform agrees with the definition, and its inverse restores the cells.
template <class Team>
void there_and_back(Team& team, space const& n, pgas::grid<2> const& ranks) {
  example::distributed_fft const fft(team, n, ranks, example::effort::estimate);
  auto const cells = fft.make_cells();
  auto const spectrum = fft.make_spectrum();
  auto const number = [&](space const& at) { return (at[0] * n[1] + at[1]) * n[2] + at[2]; };
  for (int again = 0; again < 2; ++again) {  // the second run must not meet leftovers of the first
    each_own_cell(cells, [&](space const& at, cell& c) { c = some(number(at)); });
    fft.forward(cells, spectrum);
    each_own_cell(spectrum, [&](space const& at, cell const& c) {
      require_near(c, coefficient(n, {at[1], at[0], at[2]}), "coefficient");
    });
    fft.inverse(spectrum, cells);
    each_own_cell(cells, [&](space const& at, cell const& c) {
      require_near(c / static_cast<double>(n[0] * n[1] * n[2]), some(number(at)),
                   "cell after forward and inverse");
    });
  }
}

using cells_of_ranks = std::vector<std::vector<cell>>;

/// The own cells of each rank after each of two transforms and inverses. Ranks are threads or fibers here.
template <class Model>
cells_of_ranks transformed(rank_t ranks, space const& n, pgas::grid<2> const& grid) {
  cells_of_ranks all(static_cast<std::size_t>(ranks));
  pgas::run<typename Model::backend>(ranks, [&](auto& world) {
    auto team = world.template with<typename Model::coherence, typename Model::protocols>();
    example::distributed_fft const fft(team, n, grid, example::effort::estimate);
    auto const cells = fft.make_cells();
    auto const spectrum = fft.make_spectrum();
    auto& mine = all[static_cast<std::size_t>(team.rank())];
    auto const keep = [&](auto const& a) {
      each_own_cell(a, [&](space const&, cell const& c) { mine.push_back(c); });
    };
    for (int again = 0; again < 2; ++again) {
      each_own_cell(cells,
                    [&](space const& at, cell& c) { c = some((at[0] * n[1] + at[1]) * n[2] + at[2]); });
      fft.forward(cells, spectrum);
      keep(spectrum);
      fft.inverse(spectrum, cells);
      keep(cells);
    }
  });
  return all;
}

bool same_bytes(cells_of_ranks const& a, cells_of_ranks const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto const& x, auto const& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(cell)) == 0);
  });
}

}  // namespace

TEST_CASE(
    "a distributed transform gives the same bytes on the chip as on loopback, whatever the adversary does "
    "with its caches") {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  char const* const fixed = std::getenv("PGAS_SEED");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  std::uint64_t const first = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : 1;
  space const n{10, 9, 7};
  struct way {
    rank_t ranks;
    pgas::grid<2> grid;
    cells_of_ranks expected{};
  };
  std::vector<way> ways;  // slabs and pencils; 24 cores share 10 slabs, so most of them own nothing
  for (rank_t const ranks : {2, 6, 24}) ways.push_back({ranks, pgas::grid{0, 1}});
  for (rank_t const ranks : {2, 6, 24, 48}) ways.push_back({ranks, pgas::grid{0, 0}});
  auto const started = std::chrono::steady_clock::now();
  auto const in_time = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() < seconds;
  };
  std::uint64_t seed = first;
  for (; seed == first || (fixed == nullptr && (seed < first + ways.size() || in_time())); ++seed) {
    way& how = ways[seed % ways.size()];
    if (how.expected.empty()) how.expected = transformed<loopback_model>(how.ranks, n, how.grid);
    pgas::scc::options hostile;
    pgas::scc::with_options const emulated(hostile.disturb(seed));
    auto const compare = [&]<class Model>(Model) {
      std::string problem = "gives other bytes than on loopback";
      try {
        if (same_bytes(transformed<Model>(how.ranks, n, how.grid), how.expected)) return;
      } catch (std::exception const& e) {
        problem = e.what();
      }
      FAIL_CHECK(Model::name() << ", " << how.ranks << " ranks, PGAS_SEED=" << seed << ": " << problem);
    };
    compare(scc_model{});
    compare(scc_write_back_model{});
  }
  std::cout << "covered: " << seed - first << " seeds of a distributed transform on 2, 6, 24 and 48 cores\n";
}

TEST_CASE("a distributed transform on the chip is able to fail: without a policy it gives other bytes") {
  using careless = model<pgas::backends::scc, pgas::coherence::unsafe_none>;
  space const n{10, 9, 7};
  auto const expected = transformed<loopback_model>(6, n, pgas::grid{0, 0});
  pgas::scc::options hostile;
  hostile.check = false;
  pgas::scc::with_options const emulated(hostile.disturb(1));
  CHECK_FALSE(same_bytes(transformed<careless>(6, n, pgas::grid{0, 0}), expected));
}

TEST_CASE(
    "a distributed transform equals its definition and its inverse undoes it, also with ranks that own "
    "nothing") {
  everywhere<kinds_of_memory>(
      [](auto& team) {
        for (space const& n :
             {space{4, 3, 5}, space{1, 7, 2}, space{5, 1, 3}, space{1, 1, 1}, space{3, 5, 1}}) {
          there_and_back(team, n, pgas::grid{0, 1});
          there_and_back(team, n, pgas::grid{0, 0});
        }
        there_and_back(team, {6, 4, 2}, pgas::grid{1, 0});
      },
      {1, 2, 3, 4, 6});
}

TEST_CASE("a transform of planes without cells does nothing, and says so") {
  CHECK_FALSE(example::plane_transform());
  CHECK_FALSE(example::plane_transform(0, 3, example::lines::rows, example::plane_transform::forward,
                                       example::effort::estimate));
  CHECK(example::plane_transform(2, 3, example::lines::columns, example::plane_transform::inverse,
                                 example::effort::estimate));
}

TEST_CASE("the numbers of NAS FT begin as its definition says, and continue the same from any place") {
  example::nas::random all(0);
  // 5^13 times the seed is below 2^64
  std::uint64_t const first = std::uint64_t{1220703125} * 314159265 % (std::uint64_t{1} << 46U);
  CHECK(all() == std::ldexp(static_cast<double>(first), -46));
  for (std::uint64_t i = 1; i < 3000; ++i) {
    double const number = all();
    CHECK((number > 0 && number < 1));
    if (i % 7 == 0) CHECK(example::nas::random(i)() == number);
  }
}

TEST_CASE("waves of NAS FT decay by their frequency, equally in both directions") {
  auto const even = example::nas::decay(8);
  auto const odd = example::nas::decay(5);
  CHECK(even[0] == 1);
  CHECK(even[1] == even[7]);
  CHECK(even[3] == even[5]);
  CHECK(odd[2] == odd[3]);
  CHECK(std::log(even[4]) == doctest::Approx(16 * std::log(even[1])));
  CHECK(std::log(even[1]) == doctest::Approx(-4e-6 * std::numbers::pi * std::numbers::pi));
}

TEST_CASE("an unknown class of NAS FT is refused by name, with the known ones") {
  CHECK(example::nas::problem_of("A").extents == space{128, 256, 256});
  CHECK(example::nas::problem_of("B").checksums.size() == 20);
  CHECK_THROWS_WITH(static_cast<void>(example::nas::problem_of("s")),
                    "there is no class 's'; there are S, W, A, B");
}
