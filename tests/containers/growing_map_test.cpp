// SPDX-License-Identifier: BSL-1.0
// Parts of a distributed_map that grow by themselves, and `transform`: against serial maps, while others read
// and grow the same part, with keys that all have one hash, and up to the bound. A mutant for each step of
// growth.
// test: addresses, threads, unit distributed_map
#include <algorithm>
#include <cstdint>
#include <optional>
#include <pgas/containers/distributed_map.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed_map_mutants.hpp"
#include "support/map_history.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

using number = std::uint64_t;

/// Fewer keys where each access is a message or is emulated.
template <class Team>
constexpr std::size_t keys_on(Team const&) {
  using segment_type = typename Team::backend_type::segment_type;
  return pgas::cache_controlled<segment_type> ? 60 : pgas::shared_segment<segment_type> ? 1500 : 120;
}

/// All keys have one hash.
struct same_hash {
  std::size_t operator()(auto) const noexcept { return 42; }
};

template <class Body>
void on_each_model(Body const& body) {
  for_each_model([&]<class Model>(Model) {
    if (can_have<typename Model::backend>(3)) on<Model>(3, [&](auto& team) { body(team); });
  });
}

/// Each rank inserts keys of its own and changes some, and all ranks then find what serial maps hold.
void fill_and_compare(auto& team, auto& map, std::size_t keys) {
  auto const self = static_cast<number>(team.rank());
  auto const ranks = static_cast<number>(team.size());
  std::unordered_map<number, number> mine;
  for (std::size_t i = 0; i < keys; ++i) {
    number const key = i * ranks + self;
    require_equal(map.insert(key, i), mine.emplace(key, i).second, "an insertion of a new key");
    require(!map.insert(key, i + 1), "a key is present in whatever extent it is");
    if (i % 3 == 0) map.insert_or_accumulate(key, 5), mine[key] += 5;
    if (i % 5 == 0) require_equal(map.erase(key), mine.erase(key) == 1, "an erasure");
    if (i % 10 == 0) map.update(key, i + 7), mine[key] = i + 7;
  }
  team.barrier();
  for (std::size_t i = 0; i < keys; ++i) {
    number const key = i * ranks + self;
    auto const found = mine.find(key);
    require(map.lookup(key) ==
                (found == mine.end() ? std::optional<number>() : std::optional<number>(found->second)),
            "a lookup after growth");
  }
  std::size_t const all = team.all_reduce(mine.size());
  require_equal(map.size(), all, "the size after growth");
  std::size_t own = 0;
  map.for_each_own([&](number key, number value) {
    ++own;
    require(map.lookup(key) == value, "an iteration meets a key with its value");
  });
  require_equal(team.all_reduce(own), all, "iterations meet each key of each extent once");
}

}  // namespace

TEST_CASE("growing map: a part made for four keys takes thousands, and serves all operations") {
  on_each_model([](auto& team) {
    std::size_t const keys = keys_on(team);
    auto const all = keys * static_cast<std::size_t>(team.size());
    auto map = pgas::make_map<number, number>(team, {.capacity = 4, .most = all});
    require_equal(map.most(), all, "the bound");
    fill_and_compare(team, map, keys);
    auto kept = pgas::make_map<number, number, pgas::counting>(team, {.capacity = 4, .most = all});
    fill_and_compare(team, kept, keys);

    std::size_t const before = map.size();
    map.reserve(all);
    require_equal(map.size(), before, "the size of a map whose keys have moved to home buckets");
    std::vector<number> wanted(3 * keys);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i;
    std::vector<std::optional<number>> found(wanted.size());
    kept.lookup(wanted, found);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      require(found[i] == map.lookup(wanted[i]), "a bulk lookup finds keys of all extents");
    team.barrier();
    kept.clear();
    require_equal(kept.size(), std::size_t{0}, "a cleared map is empty");
    require(!kept.contains(1), "a cleared extent has no key");
    team.barrier();
    fill_and_compare(team, kept, keys / 4);
  });
}

TEST_CASE("growing map: a part surely has room for its bound if all keys have one hash, and no more") {
  on_each_model([](auto& team) {
    auto map = pgas::make_map<number, number, pgas::locking, same_hash>(team, {.capacity = 3, .most = 70});
    if (team.rank() == 1) {
      for (number i = 0; i < 70; ++i) require(map.insert(i, i), "a key within the bound");
      require_error(errc::no_space, {"rank 1: insert: ", "part is full", "70 keys", "`most`"}, [&] {
        for (number i = 70; i < 200; ++i) map.insert(i, i);
      });
      for (number i = 0; i < 70; ++i) require_equal(map.lookup(i).value_or(99), i, "a full map is intact");
    }
    team.barrier();
    require_error(errc::invalid_argument, {"make_map", "cannot grow to 5", "`most`"}, [&] {
      static_cast<void>(pgas::make_map<number, number>(team, {.capacity = 10, .most = 5}));
    });
  });
}

TEST_CASE("growing map: readers find each inserted key while several ranks grow one part") {
  on_each_model([](auto& team) {
    std::size_t const keys = keys_on(team) / 2;
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const self = static_cast<std::size_t>(team.rank());
    auto map = pgas::make_map<number, number>(team, {.capacity = 2, .most = keys * ranks});
    std::vector<std::size_t> seen(ranks, 0);
    random_source rng(self + 1);
    team.barrier();
    for (std::size_t i = 0; i < keys; ++i) {
      require(map.insert(i * ranks + self, i), "a new key");
      for (std::size_t who = 0; who < ranks; ++who) {
        while (seen[who] < keys && map.lookup(seen[who] * ranks + who)) ++seen[who];
        if (seen[who] != 0) {
          std::size_t const one = rng.below(seen[who]);
          require(map.lookup(one * ranks + who) == one, "a key that was found before is found again");
        }
      }
      require(seen[self] > i, "a rank finds its newest key");
    }
    require_equal(map.size(), keys * ranks, "the size");
  });
}

TEST_CASE("growing map: a transform is one step that inserts, changes, erases or leaves a key") {
  on_each_model([](auto& team) {
    auto map = pgas::make_map<number, number>(team, {.capacity = 2, .most = 300});
    std::size_t const rounds = keys_on(team) / 2;
    using value = std::optional<number>;
    for (std::size_t i = 0; i < rounds; ++i)
      map.transform(i % 30, [](value const& old) -> value { return old.value_or(0) + 1; });
    team.barrier();
    number sum = 0;
    for (number key = 0; key < 30; ++key) sum += map.lookup(key).value_or(0);
    require_equal(sum, number{rounds * static_cast<std::size_t>(team.size())}, "no addition is lost");
    require_equal(map.size(), std::min<std::size_t>(30, rounds), "the keys that transforms have inserted");
    number taken = 0;
    for (number key = 0; key < 30; ++key)
      taken += map.transform(key, [](value const&) { return value(); }).value_or(0);
    require_equal(team.all_reduce(taken), sum, "of ranks that take a value away, one gets it");
    require_equal(map.size(), std::size_t{0}, "the size when all keys are taken");
    require(!map.transform(5, [](value const& old) { return old; }), "an absent key may stay absent");
    require(!map.contains(5), "an absent key is absent");
  });
}

TEST_CASE("growing map: histories of keys in extents are linearizable while others make the part grow") {
  on_each_model([](auto& team) {
    auto map = pgas::make_map<int, int, pgas::locking, same_hash>(team, {.capacity = 2, .most = 100});
    if (team.rank() == 0)
      for (int key = 0; key < 8; ++key) map.insert(key, key);
    team.barrier();
    int others = 1000 * (team.rank() + 1);
    require_linearizable(
        team, 100, [&](int key) { return map.lookup(key); },
        [&](int key, int value) {
          map.insert(others++, 1);
          map.update(key, value);
        },
        [&](int key) { map.erase(key); });
  });
}

namespace {

/// The losses of a growing part: rank 1 fills the part of each rank, and then all ranks look.
struct losses {
  std::size_t of_lookups = 0;     ///< inserted keys that a lookup does not find
  std::size_t of_iterations = 0;  ///< inserted keys that no iteration meets
  std::size_t of_clears = 0;      ///< keys that return when a cleared part grows again

  bool operator==(losses const&) const = default;
};
losses losses_of(auto& team, auto const& make) {
  auto const keys = static_cast<number>(keys_on(team));
  auto map = make(pgas::map_options{.capacity = 2, .most = keys});
  if (team.rank() == 1)
    for (number key = 0; key < keys; ++key) map.update(key, key);
  team.barrier();
  losses found;
  std::size_t met = 0;
  map.for_each_own([&](number, number) { ++met; });
  found.of_iterations = keys - team.all_reduce(met);
  for (number key = 0; key < keys; ++key) found.of_lookups += map.contains(key) ? 0U : 1U;
  map.clear();
  if (team.rank() == 1)
    for (number key = 0; key < keys; ++key) map.update(keys + key, key);
  team.barrier();
  for (number key = 0; key < keys; ++key) found.of_clears += map.contains(key) ? 1U : 0U;
  return found;
}

}  // namespace

TEST_CASE(
    "growing map: mutants, a reader that stops before extents and a growth that is not told lose keys") {
  namespace mutants = pgas::distributed_map_mutants;
  on_each_model([](auto& team) {
    auto const right =
        losses_of(team, [&](auto const& options) { return pgas::make_map<number, number>(team, options); });
    require(right == losses(), "growth loses no key");
    auto const right_kept = losses_of(team, [&](auto const& options) {
      return pgas::make_map<number, number, pgas::counting>(team, options);
    });
    require(right_kept == losses(), "growth loses no key that counts");
  });
  on<process_model>(3, [](auto& team) {
    auto const blind = losses_of(team, [&](auto const& options) {
      return mutants::no_depth::make_map<number, number>(team, options);
    });
    require(blind.of_lookups > 0, "a reader that does not look into extents misses keys");
    require_equal(blind.of_iterations, std::size_t{0}, "the keys are there all the same");
    auto const silent = losses_of(team, [&](auto const& options) {
      return mutants::no_growth::make_map<number, number>(team, options);
    });
    require(silent.of_iterations > 0, "an iteration misses the keys of an extent that nobody has counted");
    require(silent.of_clears > 0, "a clear leaves the keys of such an extent, and they return");
    require_equal(silent.of_lookups, std::size_t{0}, "lookups go by the chain");
    auto const silent_kept = losses_of(team, [&](auto const& options) {
      return mutants::no_growth::make_map<number, number, pgas::counting>(team, options);
    });
    require(silent_kept.of_iterations > 0, "the same with slots that are kept");
  });
}
