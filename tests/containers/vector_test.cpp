// SPDX-License-Identifier: BSL-1.0
// Vectors of a team: appends by any rank, growth without moves, what a size promises, and own elements.
// test: addresses, threads, unit containers
#include <array>
#include <numeric>
#include <pgas/containers/distributed_vector.hpp>
#include <set>
#include <vector>

#include "support/where_cells_are.hpp"

using namespace pgas_test;
using pgas::make_vector;

namespace pgas_test::vector_suite {

/// An element of 100 bytes: who appended it, its number there, and bytes that follow from the two.
struct entry {
  std::int32_t from = -1;
  std::int32_t number = -1;
  std::array<std::int32_t, 23> filler{};

  static entry of(rank_t from, std::int32_t number) {
    entry e{from, number, {}};
    std::iota(e.filler.begin(), e.filler.end(), from * 1009 + number);
    return e;
  }
  friend bool operator==(entry const&, entry const&) = default;
};
static_assert(sizeof(entry) == 100);

/// Requires that the vector has each of `count` elements of each rank once, in the order of their appends.
template <class Team, class Vector>
void require_all(Team& team, Vector& all, std::int32_t count) {
  require_equal(all.size(), static_cast<std::size_t>(count * team.size()), "the size");
  std::vector<std::int32_t> next(static_cast<std::size_t>(team.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    entry const e = all.get(i);
    require(e == entry::of(e.from, e.number), "an element is whole");
    require_equal(e.number, next[static_cast<std::size_t>(e.from)]++, "the next element of its rank");
  }
}

}  // namespace pgas_test::vector_suite
using namespace pgas_test::vector_suite;

TEST_CASE("vector: places of elements are a bijection, and stay when extents are added") {
  for (rank_t const ranks : {1, 2, 3, 7}) {
    for (std::size_t const block : {1U, 3U, 8U}) {
      pgas::detail::vector_places const places({.capacity = 10, .block = block}, ranks);
      std::set<std::array<std::size_t, 3>> seen;
      for (std::size_t i = 0; i < places.capacity(4); ++i) {
        auto const r = places.find(i);
        REQUIRE(r.extent < 4);
        REQUIRE(i < places.capacity(r.extent + 1));
        REQUIRE(i >= places.capacity(r.extent));
        REQUIRE(r.at + r.count <= places.part(r.extent));
        REQUIRE(seen.insert({r.extent, static_cast<std::size_t>(r.rank), r.at}).second);
      }
      std::size_t room = 0;
      for (std::size_t extent = 0; extent < 4; ++extent)
        room += places.part(extent) * static_cast<std::size_t>(ranks);
      CHECK(room == seen.size());
      CHECK(places.capacity(1) >= 10);
    }
  }
}

TEST_CASE("vector: it has every element that any rank has appended, each rank's in order") {
  where_cells_are([seed = next_seed()](auto& team) {
    auto const count = rounds_on(team.state()->backend, 40);
    random_source rng(seed * 64 + static_cast<std::uint64_t>(team.rank()));
    auto all =
        make_vector<entry>(team, {.capacity = static_cast<std::size_t>(count * team.size()), .block = 3});
    for (std::int32_t i = 0; i < count;) {
      std::vector<entry> some;
      for (std::size_t n = 1 + rng.below(7); n > 0 && i < count; --n)
        some.push_back(entry::of(team.rank(), i++));
      std::size_t const at =
          some.size() == 1 ? all.push_back(some[0]) : all.append(std::span<entry const>(some));
      std::vector<entry> back(some.size());
      all.get(at, std::span(back));
      require(back == some, "the elements are at their indices");
      dawdle(rng);
    }
    team.barrier();
    require_all(team, all, count);
    team.barrier();
  });
}

TEST_CASE("vector: elements below the size are whole while other ranks append") {
  where_cells_are(
      [seed = next_seed()](auto& team) {
        auto const count = rounds_on(team.state()->backend, 60);
        auto all =
            make_vector<entry>(team, {.capacity = static_cast<std::size_t>(count * team.size()), .block = 4});
        std::size_t looked = 0;
        random_source rng(seed);
        if (team.rank() > 0) {
          for (std::int32_t i = 0; i < count; ++i) {
            all.push_back(entry::of(team.rank(), i));
            dawdle(rng);
          }
        } else {
          auto const others = static_cast<std::size_t>(count * (team.size() - 1));
          while (looked < others) {
            std::size_t const size = all.size();
            require(size >= looked, "the size never falls");
            if (size == looked) std::this_thread::yield();
            for (; looked < size; ++looked) {
              entry const e = all.get(looked);
              require(e.from > 0 && e == entry::of(e.from, e.number), "an element below the size is whole");
            }
          }
        }
        team.barrier();
      },
      {2, 4});
}

TEST_CASE("vector: growth keeps elements and indices, and a full vector says so") {
  where_cells_are([](auto& team) {
    auto all = make_vector<entry>(team, {.capacity = 1, .block = 2});
    std::int32_t number = 0;
    for (std::size_t room = all.capacity(); room <= 32 * static_cast<std::size_t>(team.size());
         all.reserve(room + 1), room = all.capacity()) {
      while (all.try_push_back(entry::of(team.rank(), number))) ++number;
      team.barrier();
      require_equal(all.size(), room, "the vector is full");
      require_error(errc::no_space, {"push_back", "call reserve"}, [&] { all.push_back(entry::of(0, 0)); });
      for (std::size_t i = 0; i < all.size(); ++i) {
        entry const e = all.get(i);
        require(e == entry::of(e.from, e.number), "an element is whole");
      }
      team.barrier();
    }
    require_equal(team.all_reduce(number), static_cast<std::int32_t>(all.size()), "all that were appended");
    std::size_t const before = all.capacity();
    all.reserve(5);  // there is room
    require_equal(all.capacity(), before, "the capacity");
    team.barrier();
  });
}

TEST_CASE("vector: each rank changes its own elements, and others find the changes after a barrier") {
  where_cells_are([](auto& team) {
    auto all = make_vector<int>(team, {.capacity = 50, .block = 3});
    if (team.rank() == 0) {
      std::vector<int> values(50);
      std::iota(values.begin(), values.end(), 0);
      require_equal(all.append(std::span<int const>(values)), 0U, "the first index");
    }
    team.barrier();
    std::size_t own = 0;
    all.for_each_own([&](std::size_t i, int const& value) {
      require_equal(value, static_cast<int>(i), "an own element");
      require_equal(all.owner(i), team.rank(), "its owner");
      ++own;
    });
    require_equal(team.all_reduce(own), 50U, "the elements of all ranks");
    team.barrier();
    struct doubles {
      void operator()(std::size_t, int& value) const { value *= 2; }
    };
    all.for_each_own(doubles{});
    team.barrier();
    std::vector<int> back(50);
    all.get(0, std::span(back));
    for (std::size_t i = 0; i < 50; ++i) require_equal(back[i], static_cast<int>(2 * i), "a changed element");
    team.barrier();
    if (team.rank() == team.size() - 1) all.put(17, -1);
    team.barrier();
    require_equal(all.get(17), -1, "an element that another rank has put");
    team.barrier();
  });
}

TEST_CASE("vector: a wrong index or option gets an error that says so") {
  for_each_model_with_cells([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(2)) return;
    on<Model>(2, [](auto& team) {
      require_error(errc::invalid_argument, {"make_vector", "at least 1"},
                    [&] { static_cast<void>(make_vector<int>(team, {.capacity = 4, .block = 0})); });
      require_error(errc::mismatch, {"make_vector", "as the capacity"}, [&] {
        static_cast<void>(make_vector<int>(team, {.capacity = static_cast<std::size_t>(team.rank()) + 1}));
      });
      auto all = make_vector<int>(team);
      team.barrier();
      if (team.rank() == 0) all.push_back(1);
      team.barrier();
      require_error(errc::out_of_range, {"get", "1 elements do not exist at 1", "has 1"},
                    [&] { static_cast<void>(all.get(1)); });
      require_error(errc::out_of_range, {"put", "at 5"}, [&] { all.put(5, 2); });
      require_error(errc::mismatch, {"reserve"},
                    [&] { all.reserve(static_cast<std::size_t>(team.rank()) + 9); });
      require_equal(all.get(0), 1, "the element");
      team.barrier();
    });
  });
}
