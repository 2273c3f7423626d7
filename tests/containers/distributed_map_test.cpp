// SPDX-License-Identifier: BSL-1.0
// distributed_map on every backend: operations against a serial map, concurrent changes of one key, growth,
// histories, and a mutant for each step of the protocol.
// test: addresses, threads, unit distributed_map
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <pgas/containers/buffered_updates.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/map_file.hpp>
#include <pgas/vocabulary/bounded_string.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include "distributed_map_mutants.hpp"
#include "support/fake_nodes.hpp"
#include "support/models.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::bounded_string;
using pgas::counting;
using pgas::make_map;
using pgas::map_policy;

namespace map_suite {

using number = std::uint64_t;

/// Fewer operations where each is a message, and still fewer where each takes a lock or is emulated.
template <class Team>
constexpr std::size_t effort(Team const&, std::size_t usual) {
  using segment_type = typename Team::backend_type::segment_type;
  constexpr std::size_t share = pgas::cache_controlled<segment_type> ? 40
                                : pgas::shared_segment<segment_type> ? 1
                                                                     : 20;
  return std::max<std::size_t>(usual / share, 1);
}

/// All keys meet in one bucket.
struct one_hash {
  std::size_t operator()(auto const&) const noexcept { return 42; }
};

/// Gives up the core at each comparison, so that ranks meet between a search and the change behind it.
struct yielding_equal {
  bool operator()(number a, number b) const noexcept {
    std::this_thread::yield();
    return a == b;
  }
};

/// All keys meet in one bucket of a map of two ranks with room for 30 keys, and their tags differ.
struct one_bucket {
  std::size_t operator()(number key) const noexcept {
    for (number hash = key * 1000;; ++hash) {
      number const bits = pgas::detail::spread(hash);
      if (bits >> 63U == 0 && (bits & 0xffffffffU) >> 28U == 0) return hash;
    }
  }
};

/// Nodes of two ranks and nodes of one: far puts arrive no earlier than at a flush.
using two_a_node_model = model<fake::nodes_of<pgas::backends::process_map, 2>>;
using one_a_node_model = model<fake::nodes_of<pgas::backends::process_map, 1>>;

/// A key with padding, and a member that takes no part in its value.
struct padded_key {
  char kind = 0;
  std::int64_t id = 0;
  char note = 0;
  friend bool operator==(padded_key const& a, padded_key const& b) noexcept {
    return a.kind == b.kind && a.id == b.id;
  }
};
struct padded_hash {
  std::size_t operator()(padded_key const& k) const noexcept {
    return static_cast<std::size_t>(k.id) * 31 + static_cast<std::size_t>(k.kind);
  }
};
padded_key dirty_key(char kind, std::int64_t id, int dirt) {
  padded_key k;
  std::memset(static_cast<void*>(&k), dirt, sizeof k);
  k.kind = kind;
  k.id = id;
  return k;
}

/// Several words that are all the same unless a reader has mixed two values.
struct wide {
  std::array<number, 12> words{};
  wide() = default;
  explicit wide(number value) noexcept { words.fill(value); }
  [[nodiscard]] bool is_whole() const noexcept {
    return std::all_of(words.begin(), words.end(), [&](number w) { return w == words[0]; });
  }
  friend bool operator==(wide const&, wide const&) noexcept = default;
};

/// In each round each key has one rank that changes it. Every rank follows all changes in a serial map, and
/// compares all keys after the round.
template <class Map, class KeyOf, class ValueOf>
void random_rounds(auto& team, Map& map, std::size_t keys, std::size_t rounds, std::size_t changes,
                   std::uint64_t seed, KeyOf const& key_of, ValueOf const& value_of) {
  using value_type = typename Map::mapped_type;
  std::unordered_map<std::size_t, value_type> serial;
  auto const ranks = static_cast<std::size_t>(team.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t who = 0; who < ranks; ++who) {
      random_source rng(seed * 1000 + round * ranks + who);
      bool const is_me = static_cast<pgas::rank_t>(who) == team.rank();
      for (std::size_t c = 0; c < changes; ++c) {
        std::size_t const i = rng.below(keys / ranks) * ranks + (who + round) % ranks;
        value_type const value = value_of(rng());
        auto const found = serial.find(i);
        bool const was_there = found != serial.end();
        switch (rng.below(4)) {
          case 0:
            if (is_me) require_equal(map.insert(key_of(i), value), !was_there, "insert");
            if (!was_there) serial.emplace(i, value);
            break;
          case 1:
            if (is_me) require_equal(map.insert_or_assign(key_of(i), value), !was_there, "insert_or_assign");
            serial[i] = value;
            break;
          case 2:
            if (is_me) require_equal(map.erase(key_of(i)), was_there, "erase");
            serial.erase(i);
            break;
          default:
            if (is_me) {
              auto const now = map.lookup(key_of(i));
              require_equal(now.has_value(), was_there, "a lookup of an own key");
              if (was_there) require(*now == found->second, "a lookup returns the value of an own key");
            }
        }
      }
    }
    team.barrier();
    for (std::size_t i = 0; i < keys / ranks * ranks; ++i) {
      auto const now = map.lookup(key_of(i));
      auto const found = serial.find(i);
      require_equal(now.has_value(), found != serial.end(), "a lookup after a round");
      if (now) require(*now == found->second, "a lookup after a round returns the last value");
    }
    require_equal(map.size(), serial.size(), "the size after a round");
    std::size_t own = 0;
    map.for_each_own([&](auto const&, auto const&) { ++own; });
    require_equal(team.all_reduce(own), serial.size(), "the keys that ranks meet in their own parts");
  }
}

TEST_CASE("map: operations of all ranks leave what a serial map holds") {
  everywhere(
      [](auto& team) {
        auto const n = [](std::size_t i) { return number{i}; };
        auto const same = [](number v) { return v; };
        auto words = make_map<number, number>(team, {.capacity = 100});
        random_rounds(team, words, 90, 4, effort(team, 400), 1, n, same);
        auto kept = make_map<number, number, counting>(team, {.capacity = 100});
        random_rounds(team, kept, 90, 4, effort(team, 400), 2, n, same);
        auto wides = make_map<std::uint32_t, wide>(team, {.capacity = 60});
        random_rounds(
            team, wides, 50, 2, effort(team, 200), 3,
            [](std::size_t i) { return static_cast<std::uint32_t>(i); }, [](number v) { return wide(v); });
      },
      {1, 2, 3});
}

TEST_CASE("map: keys that all have one hash are kept apart, erased and inserted again") {
  everywhere(
      [](auto& team) {
        auto const n = [](std::size_t i) { return number{i}; };
        auto const same = [](number v) { return v; };
        auto words = make_map<number, number, map_policy{}, one_hash>(team, {.capacity = 30});
        random_rounds(team, words, 30, 3, effort(team, 300), 4, n, same);
        auto kept = make_map<number, number, counting, one_hash>(team, {.capacity = 30});
        random_rounds(team, kept, 30, 3, effort(team, 300), 5, n, same);
      },
      {1, 3});
}

TEST_CASE("map: keys that compare equal but differ in their padding are one key") {
  everywhere(
      [](auto& team) {
        auto map = make_map<padded_key, int, map_policy{}, padded_hash>(team, {.capacity = 64});
        if (team.rank() == 0) {
          for (int id = 0; id < 20; ++id) require(map.insert(dirty_key('a', id, 0x00), id), "a new key");
        }
        team.barrier();
        for (int id = 0; id < 20; ++id) {
          require(!map.insert(dirty_key('a', id, 0xff), -1), "a key with other padding is present");
          require_equal(map.lookup(dirty_key('a', id, 0x5a)).value_or(-1), id, "its value");
          require(!map.contains(dirty_key('b', id, 0x00)), "another key is absent");
        }
        team.barrier();
        if (team.rank() == team.size() - 1) {
          for (int id = 0; id < 20; ++id) require(map.erase(dirty_key('a', id, 0x33)), "it can be erased");
        }
        require_equal(map.size(), std::size_t{0}, "the size");
      },
      {1, 2});
}

TEST_CASE("map: strings are keys, compared and hashed by their characters") {
  using text = bounded_string<24>;
  everywhere(
      [](auto& team) {
        auto map = make_map<text, text>(team, {.capacity = 64});
        if (team.rank() == 0) {
          for (int i = 0; i < 30; ++i) {
            std::string const key = "key " + std::to_string(i);
            require(map.insert(std::string_view(key), text("value of " + key)), "a new key");
          }
        }
        team.barrier();
        for (int i = 0; i < 30; ++i) {
          std::string const key = "key " + std::to_string(i);
          auto const found = map.lookup(std::string_view(key));
          require(found && found->view() == "value of " + key, "a string is found");
        }
        require(!map.contains("key"), "the beginning of a key is another key");
      },
      {1, 2});
  CHECK_THROWS_AS(bounded_string<3>("four"), std::length_error);
  CHECK(bounded_string<3>::beginning_of("four") == bounded_string<3>("fou"));
  CHECK(bounded_string<3>("ab") < bounded_string<3>("b"));
}

/// All ranks insert the same keys. Returns how many insertions returned true.
template <class Map>
std::size_t wins_of_all(auto& team, Map& map, std::size_t keys) {
  std::size_t wins = 0;
  random_source rng(static_cast<std::uint64_t>(team.rank()) + 7);
  team.barrier();
  for (std::size_t i = 0; i < keys; ++i) {
    dawdle(rng);
    wins += map.insert(number{i}, static_cast<number>(team.rank())) ? 1U : 0U;
  }
  return team.all_reduce(wins);
}

TEST_CASE("map: of ranks that insert one key at a time, exactly one gets true") {
  everywhere(
      [](auto& team) {
        std::size_t const keys = effort(team, 2000);
        auto map = make_map<number, number>(team, {.capacity = keys});
        require_equal(wins_of_all(team, map, keys), keys, "insertions that won");
        require_equal(map.size(), keys, "the size");
        auto meeting = make_map<number, number, map_policy{}, one_hash>(team, {.capacity = keys / 10 + 1});
        require_equal(wins_of_all(team, meeting, keys / 10 + 1), keys / 10 + 1, "insertions that won");
        auto kept = make_map<number, number, counting>(team, {.capacity = keys});
        require_equal(wins_of_all(team, kept, keys), keys, "insertions that won");
      },
      {2, 3});
}

TEST_CASE("map: accumulates of all ranks add up, whatever the operation") {
  everywhere(
      [](auto& team) {
        std::size_t const rounds = effort(team, 3000);
        auto const ranks = static_cast<std::size_t>(team.size());
        auto fill = [&](auto& map, auto op) {
          for (std::size_t i = 0; i < rounds; ++i)
            map.insert_or_accumulate(
                number{i % 17},
                static_cast<typename std::remove_cvref_t<decltype(map)>::mapped_type>(1 + i % 5), op);
          team.barrier();
        };
        auto const times = [&](std::size_t key, std::size_t add) {
          std::size_t n = 0;
          for (std::size_t i = key; i < rounds; i += 17) n += 1 + i % 5 == add ? 1U : 0U;
          return n;
        };
        auto const sum_of = [&](std::size_t key) {
          std::size_t sum = 0;
          for (std::size_t add = 1; add <= 5; ++add) sum += add * times(key, add);
          return sum * ranks;
        };
        auto words = make_map<number, number>(team);
        auto narrow = make_map<number, std::int16_t, counting>(team);
        auto real = make_map<number, double, counting>(team);
        auto most = make_map<number, int, counting>(team);
        auto own = make_map<number, int>(team);
        fill(words, pgas::op::sum{});
        fill(narrow, pgas::op::sum{});
        fill(real, pgas::op::sum{});
        fill(most, pgas::op::max{});
        fill(own, [](int old, int value) { return old + 2 * value; });
        for (std::size_t key = 0; key < std::min<std::size_t>(17, rounds); ++key) {
          require_equal(words.lookup(key).value_or(0), sum_of(key), "a sum under locks");
          require_equal(narrow.lookup(key).value_or(0), static_cast<std::int16_t>(sum_of(key)),
                        "a narrow sum");
          require_equal(real.lookup(key).value_or(0), static_cast<double>(sum_of(key)), "a sum of reals");
          require(most.lookup(key).value_or(0) >= 1, "a maximum");
          require(own.lookup(key).value_or(0) >= 1, "an operation of the program's own");
        }
      },
      {1, 2, 3});
}

TEST_CASE("map: buffered values are in the map after a flush, whether it is called or comes by itself") {
  everywhere(
      [](auto& team) {
        std::size_t const rounds = effort(team, 3000) + 50;
        auto map = make_map<number, number, counting>(team);
        {
          auto counts = pgas::buffered(map, 16);
          for (std::size_t i = 0; i < rounds; ++i) counts.add(i % 40, i);
          require(counts.size() < 16, "a full buffer has flushed");
          counts.flush();
          require_equal(counts.size(), std::size_t{0}, "the size after a flush");
          counts.add(1000, 1);
        }
        auto most = make_map<number, number>(team);
        {
          auto values = pgas::buffered(most, 1000, pgas::op::max{});
          for (std::size_t i = 0; i < rounds; ++i) values.add(i % 40, i);
        }
        team.barrier();
        auto const ranks = static_cast<std::size_t>(team.size());
        for (std::size_t key = 0; key < 40; ++key) {
          number sum = 0;
          number last = 0;
          for (std::size_t i = key; i < rounds; i += 40) sum += i, last = i;
          require_equal(map.lookup(key).value_or(0), sum * ranks, "a sum");
          require_equal(most.lookup(key).value_or(0), last, "a maximum");
        }
        require_equal(map.lookup(1000).value_or(0), number{ranks}, "the destructor has flushed");
      },
      {1, 2});
}

TEST_CASE("map: a saved map is loaded by another number of ranks, and wrong files are refused on all") {
  auto const folder = std::filesystem::temp_directory_path() / ("pgas_map_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto const file = folder / "map";
  everywhere(
      [&file](auto& team) {
        std::size_t const keys = effort(team, 3000) + 10;
        {
          auto map = make_map<padded_key, wide, map_policy{}, padded_hash>(team, {.capacity = keys});
          if (team.rank() == 0) {
            for (std::size_t i = 0; i < keys; ++i)
              map.insert(dirty_key('k', static_cast<std::int64_t>(i), 0x77), wide(i));
          }
          pgas::save(map, file);
        }
        auto load_on = [&](auto const& some) {
          auto map = make_map<padded_key, wide, map_policy{}, padded_hash>(some, {.capacity = keys});
          pgas::load(map, file);
          require_equal(map.size(), keys, "the size of the loaded map");
          for (std::size_t i = 0; i < keys; ++i)
            require(map.lookup(dirty_key('k', static_cast<std::int64_t>(i), 0)) == wide(i), "a loaded value");
        };
        load_on(team);
        auto const fewer = team.split(team.rank() == 0 ? 0 : 1);
        if (team.rank() == 0) load_on(fewer);
        team.barrier();
        auto other = make_map<number, number>(team);
        require_error(errc::bad_file, {"load", "keys of 24 bytes"}, [&] { pgas::load(other, file); });
        require_error(errc::bad_file, {"load", "cannot be opened"},
                      [&] { pgas::load(other, file.string() + ".missing"); });
        require_error(errc::bad_file, {"save", "cannot be made"},
                      [&] { pgas::save(other, file / "in a file"); });
        auto small = make_map<padded_key, wide, map_policy{}, one_hash>(team, {.capacity = 3});
        require_error(errc::no_space, {"load", "is full"}, [&] { pgas::load(small, file); });
      },
      {1, 2, 3});
  std::filesystem::remove_all(folder);
}

TEST_CASE("map: bulk operations do what single ones do") {
  everywhere(
      [](auto& team) {
        std::size_t const keys = effort(team, 1000) + 300;  // more than a batch
        auto map = make_map<number, number>(team, {.capacity = keys});
        using pair = typename decltype(map)::value_type;
        std::vector<pair> pairs;
        for (std::size_t i = 0; i < keys; ++i) pairs.emplace_back(i % (keys - 10), i);
        if (team.rank() == 0) map.update(pairs);  // the last pair of a key counts
        team.barrier();
        std::vector<number> wanted;
        for (std::size_t i = 0; i < keys; ++i) wanted.push_back(i);
        std::vector<std::optional<number>> found(keys);
        map.lookup(wanted, found);
        for (std::size_t i = 0; i < keys; ++i) {
          require(found[i] == map.lookup(number{i}), "a bulk lookup returns what a single one does");
          require(found[i] == (i < 10          ? std::optional<number>(keys - 10 + i)
                               : i < keys - 10 ? std::optional<number>(i)
                                               : std::nullopt),
                  "a bulk update leaves the last value");
        }
        team.barrier();
        map.insert_or_accumulate(std::span<pair const>(pairs), pgas::op::max{});
        team.barrier();
        require_equal(map.size(), keys - 10, "the size");
        require_error(errc::invalid_argument, {"lookup", "give as many"},
                      [&] { map.lookup(wanted, std::span(found).first(1)); });
      },
      {1, 2});
}

TEST_CASE(
    "map: a part has room for its capacity with any hash, and a full one names rank, bound and remedy") {
  everywhere(
      [](auto& team) {
        auto map = make_map<number, number, map_policy{}, one_hash>(team, {.capacity = 20});
        if (team.rank() == 0) {
          for (number i = 0; i < 20; ++i) require(map.insert(i, i), "a key within the capacity");
          require_error(errc::no_space,
                        {"rank 0: insert: ", "rank " + std::to_string(map.owner(0)) + "'s part is full",
                         "20 keys", "reserve"},
                        [&] {
                          for (number i = 20; i < 100; ++i) map.insert(i, i);
                        });
          for (number i = 0; i < 20; ++i)
            require_equal(map.lookup(i).value_or(99), i, "a full map is intact");
          require(map.erase(3), "a key of a full map can be erased");
          require(map.insert(1000, 1), "its slot is free for another key");
        }
        std::size_t const before = map.size();
        map.reserve(200);
        require_equal(map.size(), before, "the size of a map with more room");
        require_equal(map.capacity(), std::size_t{200}, "the capacity");
        if (team.rank() == team.size() - 1) {
          for (number i = 2000; i < 2100; ++i) require(map.insert(i, i), "a larger map has room");
        }
        team.barrier();
        for (number i = 0; i < 3; ++i) require_equal(map.lookup(i).value_or(99), i, "all keys have moved");
        require_error(errc::invalid_argument, {"reserve", "at least as many"}, [&] { map.reserve(10); });
        map.clear();
        require_equal(map.size(), std::size_t{0}, "a cleared map is empty");
        require(!map.contains(1), "a cleared map has no key");
        team.barrier();
        map.insert(static_cast<number>(team.rank()), 1);
        require_equal(map.size(), static_cast<std::size_t>(team.size()), "a cleared map can be filled again");
      },
      {1, 2});
}

TEST_CASE("map: options that differ between ranks are refused on all of them") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        require_error(errc::mismatch, {"keys of capacity"}, [&] {
          static_cast<void>(
              make_map<int, int>(team, {.capacity = static_cast<std::size_t>(team.rank() + 1)}));
        });
      },
      {2});
}

/// Each rank inserts its keys in order while all look for the keys of others. Returns whether a key was
/// missing that came before a found one.
template <class Map>
bool misses_while_growing(auto& team, Map& map, std::size_t keys) {
  auto const ranks = static_cast<std::size_t>(team.size());
  auto const self = static_cast<std::size_t>(team.rank());
  random_source rng(self + 1);
  bool missing = false;
  std::vector<std::size_t> seen(ranks, 0);
  team.barrier();
  for (std::size_t i = 0; i < keys; ++i) {
    map.insert(i * ranks + self, i);
    for (std::size_t who = 0; who < ranks; ++who) {
      while (seen[who] < keys && map.lookup(seen[who] * ranks + who)) ++seen[who];
      if (seen[who] != 0) missing = missing || !map.lookup(rng.below(seen[who]) * ranks + who);
    }
    missing = missing || seen[self] <= i;
  }
  team.barrier();
  for (std::size_t i = 0; i < keys * ranks; ++i) missing = missing || map.lookup(number{i}) != i / ranks;
  return missing;
}

TEST_CASE("map: readers find each inserted key while chains grow") {
  everywhere(
      [](auto& team) {
        std::size_t const keys = effort(team, 1500);
        auto const all = keys * static_cast<std::size_t>(team.size());
        auto map = make_map<number, number>(team, {.capacity = all});
        require(!misses_while_growing(team, map, keys), "a key that was inserted is found");
        auto chain = make_map<number, number, map_policy{}, one_hash>(team, {.capacity = all / 10 + 10});
        require(!misses_while_growing(team, chain, keys / 10), "a key in a long chain is found");
      },
      {2, 3});
}

/// Rank 0 gives keys larger and larger values, and erases and inserts others between them. The other ranks
/// read. Returns whether one saw a mixed value, or an older value after a newer one.
template <class Map>
bool sees_wrong_values(auto& team, Map& map, std::size_t changes, std::size_t keys) {
  bool wrong = false;
  if (team.rank() == 0) {
    for (number k = 0; k < keys; ++k) map.insert(k, wide(1));
  }
  team.barrier();
  if (team.rank() == 0) {
    for (std::size_t i = 0; i < changes; ++i) {
      map.update(i % keys, wide(2 + i));
      if (i % 4 == 0) {
        map.insert(1000 + i % 3, wide(5000 + i));
        map.erase(1000 + i % 3);
      }
    }
    map.update(keys, wide(0));  // tells the end
  } else {
    std::vector<number> last(keys, 0);
    for (std::size_t i = 0; i < 100 * changes && (i % 8 != 0 || !map.contains(keys)); ++i) {
      auto const found = map.lookup(i % keys);
      if (!found || !found->is_whole() || found->words[0] < last[i % keys]) {
        wrong = true;
        continue;
      }
      last[i % keys] = found->words[0];
    }
  }
  return team.all_reduce(wrong ? 1 : 0) != 0;
}

TEST_CASE("map: values of many words are read whole, and never older ones after newer ones") {
  everywhere(
      [](auto& team) {
        std::size_t const changes = effort(team, 20000);
        auto map = make_map<number, wide>(team);
        require(!sees_wrong_values(team, map, changes, 5), "values are whole and newer and newer");
        auto chain = make_map<number, wide, map_policy{}, one_hash>(team);
        require(!sees_wrong_values(team, chain, changes, 5), "so are values in overflow buckets");
        if (team.size() != 2 || changes != 20000) return;  // of messages these are too many
        auto tags = make_map<number, wide, map_policy{}, one_bucket>(team, {.capacity = 30});
        require(!sees_wrong_values(team, tags, changes, 6), "so are those of keys with other tags");
      },
      {2, 3});
}

TEST_CASE("map: near and far parts of one map keep the same promises") {
  everywhere<std::tuple<two_a_node_model>>(
      [](auto& team) {
        auto const n = [](std::size_t i) { return number{i}; };
        auto words = make_map<number, number>(team, {.capacity = 100});
        random_rounds(team, words, 90, 3, 200, 1, n, [](number v) { return v; });
        auto wides = make_map<number, wide, map_policy{}, one_hash>(team, {.capacity = 60});
        random_rounds(team, wides, 50, 2, 100, 3, n, [](number v) { return wide(v); });
        auto kept = make_map<number, number, counting>(team, {.capacity = 200});
        require_equal(wins_of_all(team, kept, 200), std::size_t{200}, "insertions that won");
        auto map = make_map<number, wide>(team);
        require(!sees_wrong_values(team, map, 500, 5), "values are whole and newer and newer");
      },
      {3, 4});
}

/// Rank 0 erases and inserts keys with value 0 that no rank counts with. The others count with another key,
/// which rank 0 erases now and then, too. Returns whether a key that nobody counts with has a count.
template <class Map>
bool counts_for_others(auto& team, Map& map, std::size_t rounds) {
  bool wrong = false;
  team.barrier();
  for (std::size_t i = 0; i < rounds; ++i) {
    if (team.rank() != 0) {
      map.insert_or_accumulate(1, 1);
      continue;
    }
    map.erase(1);
    map.insert(2 + i % 2, 0);
    wrong = wrong || map.lookup(2 + i % 2) != number{0};
    map.erase(2 + i % 2);
  }
  return team.all_reduce(wrong ? 1 : 0) != 0;
}

TEST_CASE("map: a count never goes to another key, whose slot was that of an erased one") {
  everywhere(
      [](auto& team) {
        std::size_t const rounds = effort(team, 10000);
        auto kept = make_map<number, number, counting, one_hash>(team);
        require(!counts_for_others(team, kept, rounds), "counts without a lock stay with their key");
        auto reused = make_map<number, number, map_policy{}, one_hash>(team);
        require(!counts_for_others(team, reused, rounds), "counts under locks stay with their key");
      },
      {2});
}

// --- histories ---------------------------------------------------------------------------------------------

enum class call_kind { lookup, insert, assign, erase, accumulate };

/// One call as its rank saw it. A clock that all ranks advance gives the times, so that a call which returned
/// before another one began has smaller ones.
struct recorded_call {
  call_kind kind{};
  number value = 0;
  number result = 0;  ///< what the call returned; of a lookup, the value plus one, or 0
  number began = 0;
  number ended = 0;
};

/// Whether a value (plus one; 0: absent) can be followed by these calls of one key, in an order that their
/// times allow. Tries all orders, as Wing and Gong 1993 do.
bool is_linearizable(std::vector<recorded_call> const& calls, std::uint32_t done, number state,
                     std::map<std::pair<std::uint32_t, number>, bool>& known) {
  if (done == (std::uint32_t{1} << calls.size()) - 1) return true;
  auto const [at, is_new] = known.try_emplace({done, state}, false);
  if (!is_new) return at->second;
  number first_end = ~number{0};
  for (std::size_t i = 0; i < calls.size(); ++i)
    if ((done >> i & 1U) == 0) first_end = std::min(first_end, calls[i].ended);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    recorded_call const& c = calls[i];
    if ((done >> i & 1U) != 0 || c.began > first_end) continue;
    number next = state;
    number result = 0;
    switch (c.kind) {
      case call_kind::lookup:
        result = state;
        break;
      case call_kind::insert:
        result = state == 0;
        next = state == 0 ? c.value + 1 : state;
        break;
      case call_kind::assign:
        result = state == 0;
        next = c.value + 1;
        break;
      case call_kind::erase:
        result = state != 0;
        next = 0;
        break;
      case call_kind::accumulate:
        result = state == 0;
        next = state == 0 ? c.value + 1 : state + c.value;
        break;
    }
    bool const returns_so =
        c.kind == call_kind::assign || c.kind == call_kind::accumulate || result == c.result;
    if (returns_so && is_linearizable(calls, done | std::uint32_t{1} << i, next, known))
      return known[{done, state}] = true;
  }
  return false;
}

/// Runs a few random calls on two keys on each rank, and returns whether each key's history is linearizable.
template <class Map>
bool has_right_history(auto& team, Map& map, std::uint64_t seed) {
  constexpr std::size_t calls_of_a_rank = 6;
  auto clock = pgas::make_window<number>(team, 1);
  random_source rng(seed * 16 + static_cast<std::uint64_t>(team.rank()));
  std::array<std::array<recorded_call, calls_of_a_rank>, 2> mine{};
  std::array<std::size_t, 2> counts{};
  {
    pgas::lock_all epoch{clock};
    auto const tick = [&] { return epoch.fetch_add(0, 0, 1); };
    team.barrier();
    for (std::size_t i = 0; i < calls_of_a_rank; ++i) {
      std::size_t const key = rng.below(2);
      recorded_call& c = mine[key][counts[key]++];
      c.kind = static_cast<call_kind>(rng.below(5));
      c.value = 1 + rng.below(1000);
      dawdle(rng);
      c.began = tick();
      switch (c.kind) {
        case call_kind::lookup: {
          auto const found = map.lookup(key);
          c.result = found ? number{*found} + 1 : 0;
          break;
        }
        case call_kind::insert:
          c.result = map.insert(key, c.value);
          break;
        case call_kind::assign:
          map.insert_or_assign(key, c.value);
          break;
        case call_kind::erase:
          c.result = map.erase(key);
          break;
        case call_kind::accumulate:
          map.insert_or_accumulate(key, c.value);
          break;
      }
      c.ended = tick();
    }
  }
  bool right = true;
  auto const all = team.all_gather(mine);
  auto const all_counts = team.all_gather(counts);
  for (std::size_t key = 0; key < 2; ++key) {
    std::vector<recorded_call> calls;
    for (std::size_t r = 0; r < all.size(); ++r)
      calls.insert(calls.end(), all[r][key].begin(),
                   all[r][key].begin() + static_cast<std::ptrdiff_t>(all_counts[r][key]));
    std::map<std::pair<std::uint32_t, number>, bool> known;
    right = right && is_linearizable(calls, 0, 0, known);
  }
  return right;
}

double budget_in_seconds() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

TEST_CASE("map: the history of each key is linearizable") {
  for_each_model([&]<class Model>(Model) {
    auto const end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(budget_in_seconds() / 4);
    std::uint64_t const first = next_seed();
    std::uint64_t seed = first;
    do {
      pgas::rank_t const ranks = can_have<typename Model::backend>(3) ? 3 : 1;
      on<Model>(ranks, [seed](auto& team) {
        for (std::uint64_t i = 0; i < 5; ++i) {
          auto map = make_map<number, number, map_policy{}, one_hash>(team, {.capacity = 8});
          require(has_right_history(team, map, seed * 10 + i), "a history with locks is linearizable");
          auto kept = make_map<number, number, counting, one_hash>(team, {.capacity = 8});
          require(has_right_history(team, kept, seed * 10 + i), "a history of counting is linearizable");
        }
      });
    } while (++seed, agreed(std::chrono::steady_clock::now() < end));
    std::cout << "covered: " << 10 * (seed - first) << " histories of two keys on " << Model::name() << "\n";
  });
}

// --- mutants -----------------------------------------------------------------------------------------------

/// A map with a step left out, and whether its test notices that within the time.
template <class Model, class Body>
bool is_noticed(Body const& body, pgas::rank_t ranks = 2) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    std::uint64_t const seed = next_seed();
    incoherent::against const misbehaviour({.seed = seed});
    auto emulated = pgas::scc::with_options::chosen();
    pgas::scc::with_options const hostile(emulated.disturb(seed));
    if (pgas::run<typename Model::backend>(ranks, [&body](auto& world) {
          auto team = world.template with<typename Model::coherence, typename Model::protocols>();
          return body(team);
        }))
      return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}
template <class Named = process_model, class Body>
void require_noticed(std::string const& mutant, Body const& body) {
  for_each_model<std::tuple<Named>>([&]<class Model>(Model) {
    INFO("without: ", mutant);
    CHECK(is_noticed<Model>(body));
  });
}

TEST_CASE("map: mutants, each step of a lookup or a change is needed") {
  require_noticed("the second look of a lookup", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_second_look::make_map<number, wide>(team);
    return sees_wrong_values(team, map, 20000, 5);
  });
  require_noticed("the count of changes", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_count::make_map<number, wide>(team);
    return sees_wrong_values(team, map, 20000, 1);
  });
  require_noticed("the look whether a bucket changes", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_look_at_lock::make_map<number, wide>(team);
    return sees_wrong_values(team, map, 20000, 5);
  });
  require_noticed("the mark of an overflow bucket", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_mark::make_map<number, wide, pgas::locking, one_bucket>(
        team, {.capacity = 30});
    return sees_wrong_values(team, map, 20000, 6);
  });
  require_noticed("the lock of a chain", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_lock::make_map<number, number, pgas::locking, one_hash,
                                                                yielding_equal>(team, {.capacity = 1000});
    bool wrong = false;
    for (int round = 0; round < 100; ++round) {
      wrong = wins_of_all(team, map, 8) != 8 || wrong;
      map.clear();
    }
    return wrong;
  });
  require_noticed<one_a_node_model>("the flush of a slot", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_flush::make_map<number, wide>(team, {.capacity = 20000});
    return sees_wrong_values(team, map, 2000, 5);
  });
}

/// A map whose values change without a lock, and whose slots of erased keys serve other keys all the same.
TEST_CASE("map: mutants, a slot that counts without a lock must wait for its own key") {
  require_noticed("the wait of a slot for its key", [](auto& team) {
    auto map = pgas::distributed_map_mutants::no_keep::make_map<number, number, counting, one_hash>(
        team, {.capacity = 1000});
    return counts_for_others(team, map, 20000);
  });
}

}  // namespace map_suite
