// SPDX-License-Identifier: BSL-1.0
// The promises of maps with the policy locked_parts: results, histories in real time, full parts and files.
// test: addresses, threads, unit distributed_map
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/locked_parts.hpp>
#include <pgas/containers/map_file.hpp>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/vocabulary/bounded_string.hpp>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

using kv = pgas::histories::spec_map<int, int>;
using kv_record = pgas::histories::record_of<kv>;

/// All keys have one place, so that each operation looks at many.
struct one_place {
  std::size_t operator()(int) const noexcept { return 5; }
};

}  // namespace

TEST_CASE("locked_parts: a map has the results of a serial map, also if all keys have one hash") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    on<Model>(3, [](auto& team) {
      auto map = pgas::make_map<int, std::int64_t, pgas::locked_parts, one_place>(team, {.capacity = 60});
      std::unordered_map<int, std::int64_t> mine;  // of keys that no other rank changes
      std::mt19937 random(static_cast<unsigned>(team.rank()));
      for (int i = 0; i < 60; ++i) {
        int const key = static_cast<int>(random() % 6) * 3 + team.rank();
        switch (random() % 5) {
          case 0:
            require_equal(map.insert(key, i), mine.try_emplace(key, i).second,
                          "an insertion says whether the key was absent");
            break;
          case 1:
            require_equal(map.insert_or_assign(key, i), mine.insert_or_assign(key, i).second,
                          "an assignment says whether the key was absent");
            break;
          case 2:
            require_equal(map.erase(key), mine.erase(key) == 1,
                          "an erasure says whether the key was present");
            break;
          case 3:
            require_equal(map.insert_or_accumulate(key, i), !mine.contains(key),
                          "an accumulation says whether the key was absent");
            mine[key] += i;
            break;
          default:
            require_equal(map.lookup(key).value_or(-1), mine.contains(key) ? mine[key] : -1,
                          "a rank finds what it has written");
        }
        map.insert_or_accumulate(1000, 1);  // a key that all ranks change
      }
      team.barrier();
      require_equal(map.lookup(1000).value_or(0), std::int64_t{180}, "no addition of a rank is lost");
      for (auto const& [key, value] : mine)
        require_equal(map.lookup(key).value_or(-1), value, "a rank finds what it has written in the end");
      std::size_t const keys = team.all_reduce(mine.size()) + 1;
      require_equal(map.size(), keys, "all keys are counted");
      map.reserve(100);
      std::size_t own = 0;
      map.for_each_own([&](int key, std::int64_t) {
        ++own;
        require(map.contains(key), "a key of the part is found while the part is read");
      });
      require_equal(team.all_reduce(own), keys, "the parts have all keys");
      map.clear();
      require_equal(map.size(), std::size_t{0}, "a cleared map is empty");
      require(!map.contains(1000), "a cleared map has no key");
    });
  });
}

TEST_CASE(
    "locked_parts: histories in real time are linearizable, and the checker finds a lost update in them") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    on<Model>(3, [](auto& team) {
      auto map = pgas::make_map<int, int, pgas::locked_parts>(team, {.capacity = 8});
      pgas::histories::recorder<kv> seen(team.rank());
      std::mt19937 random(static_cast<unsigned>(team.rank()));
      for (int i = 0; i < 12; ++i) {
        int const key = static_cast<int>(random() % 2);
        if (random() % 3 == 0)
          seen.call(kv::update(key, 100 * team.rank() + i + 1),
                    [&] { map.update(key, 100 * team.rank() + i + 1); });
        else if (random() % 3 == 0)
          seen.call(kv::erase(key), [&] { map.erase(key); });
        else
          seen.call(kv::lookup(key), [&] { return map.lookup(key); });
      }
      team.barrier();
      pgas::histories::history<kv> whole;
      constexpr std::size_t most = 12;
      auto all = pgas::make_window<kv_record>(team, most);
      {
        pgas::fence epoch{all};
        epoch.to(team.rank()).put(0, seen.records());
      }
      std::vector<std::vector<kv_record>> theirs(static_cast<std::size_t>(team.size()),
                                                 std::vector<kv_record>(most));
      {
        pgas::fence epoch{all};
        for (rank_t r = 0; r < team.size(); ++r)
          epoch.to(r).get(0, std::span(theirs[static_cast<std::size_t>(r)]));
      }
      for (auto const& one : theirs) whole.append(one);
      auto const verdict = check_linearizable(whole);
      require(verdict.right, verdict.text);
    });
  });
}

TEST_CASE("locked_parts: a full part is refused with its rank and bound, and erased places serve new keys") {
  on<process_model>(2, [](auto& team) {
    auto map = pgas::make_map<int, int, pgas::locked_parts, one_place>(team, {.capacity = 2});
    if (team.rank() == 0) {
      for (int round = 0; round < 50; ++round) {
        map.insert(round, round);
        require(map.erase(round), "a key that was inserted is erased");
      }
      for (int key = 0; key < 4; ++key) map.insert(key, key);
      require_error(pgas::errc::no_space, {"insert", "part is full: it was made for 2 keys"},
                    [&] { map.insert(4, 4); });
    }
    require_error(pgas::errc::invalid_argument, {"reserve", "more than 2"}, [&] { map.reserve(2); });
    map.reserve(4);
    require_equal(map.lookup(3).value_or(-1), 3, "a larger map has the keys of the smaller one");
  });
}

TEST_CASE("locked_parts: a map of texts is saved, and a map of another policy loads it") {
  using name = pgas::bounded_string<15>;
  auto const path = std::filesystem::temp_directory_path() / ("pgas-parts-" + std::to_string(::getpid()));
  on<process_model>(2, [&](auto& team) {
    auto ages = pgas::make_map<name, int, pgas::locked_parts>(team, {.capacity = 8});
    ages.update(team.rank() == 0 ? "Ada" : "Emmy", 30 + team.rank());
    save(ages, path);
    auto again = pgas::make_map<name, int>(team, {.capacity = 8});
    load(again, path);
    require_equal(again.lookup("Ada").value_or(0), 30, "the map of another policy has the key of rank 0");
    require_equal(again.lookup("Emmy").value_or(0), 31, "the map of another policy has the key of rank 1");
  });
  std::filesystem::remove(path);
}
