// SPDX-License-Identifier: BSL-1.0
// kv: YCSB's mixes on a map by any policy. kv [--mix A|B|C|F] [--map NAME] [--servers N] [--colocated]
#include <chrono>
#include <cstdio>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/locked_parts.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <pgas/pgas.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <support/backends.hpp>

#include "support/arguments.hpp"
#include "support/in_quotes.hpp"
#include "support/zipf.hpp"

/// The steps of a client: lookups, updates, or updates of values that it has looked up.
struct mix {
  int lookups = 95;  ///< of 100 operations
  bool reads_before_it_writes = false;
};

struct setting {
  std::string_view mix_name = "B";
  std::string_view map = "part_caching";
  std::uint64_t records = 1'000;
  std::uint64_t operations = 2'000;  ///< of each client
  pgas::map_on_options options{.costs = {.pre = 12, .lookup = 11, .update = 11}};

  [[nodiscard]] mix what() const {
    if (mix_name == "A") return {.lookups = 50};
    if (mix_name == "B") return {.lookups = 95};
    if (mix_name == "C") return {.lookups = 100};
    if (mix_name == "F") return {.lookups = 50, .reads_before_it_writes = true};
    throw std::runtime_error("kv: there is no mix " + example::in_quotes(mix_name) + "; take A, B, C or F");
  }
};

setting read(std::span<std::string_view const> arguments) {
  setting s;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view const option = arguments[i];
    auto const text = [&] {
      if (++i == arguments.size()) throw std::runtime_error("kv: " + std::string(option) + " needs a value");
      return arguments[i];
    };
    auto const number = [&] { return static_cast<void>(text()), example::number(arguments, i, 0); };
    if (option == "--mix") {
      s.mix_name = text();
    } else if (option == "--map") {
      s.map = text();
    } else if (option == "--records") {
      s.records = number();
    } else if (option == "--operations") {
      s.operations = number();
    } else if (option == "--servers") {
      s.options.servers.number = static_cast<int>(number());
    } else if (option == "--colocated") {
      s.options.servers.where = pgas::placement::colocated;
    } else {
      throw std::runtime_error(
          "usage: kv [--mix A|B|C|F] [--map NAME] [--records N] [--operations N] [--servers N] "
          "[--colocated]");
    }
  }
  if (s.records == 0) throw std::runtime_error("kv: a map without records has no keys to look up");
  return s;
}

/// The results of a client.
struct totals {
  std::uint64_t operations = 0;
  std::uint64_t wrong = 0;  ///< values of other keys, and records that nobody has erased but that are absent
  double seconds = 0;
};

/// Each record's value has its key's number in it, so that a lookup can tell whether the value is one of the
/// key.
std::uint64_t value_of(std::uint64_t key, std::uint64_t version) { return version << 32U | key; }

template <class Map, class Team>
totals carry_out(Team& team, Map& map, setting const& s) {
  mix const what = s.what();
  std::mt19937_64 random(static_cast<std::uint64_t>(team.rank()) + 1);
  std::uniform_real_distribution<double> from_0_to_1;
  example::zipf const draw(s.records);
  totals seen;
  auto const look_up = [&](std::uint64_t key) {
    auto const value = map.lookup(key);
    seen.wrong += !value || (*value & 0xFFFFFFFFU) != key;
  };
  auto const begin = team.now();
  for (std::uint64_t i = 1; i <= s.operations; ++i, ++seen.operations) {
    std::uint64_t const key = draw(from_0_to_1(random));
    bool const writes = static_cast<int>(random() % 100) >= what.lookups;
    if (!writes || what.reads_before_it_writes) look_up(key);
    if (writes) map.update(key, value_of(key, i));
  }
  seen.seconds = std::chrono::duration<double>(team.now() - begin).count();
  return seen;
}

/// Makes a map by a policy, fills it, and lets all clients carry out the mix.
template <auto Policy, class Team>
void run_on(Team& team, setting const& s) {
  typename decltype(Policy)::options options{};
  if constexpr (pgas::policy_of_messages<decltype(Policy)>) {
    options = s.options;
  } else {
    if (s.options.servers.number != pgas::map_servers::chosen ||
        s.options.servers.where != pgas::placement::dedicated)
      throw std::runtime_error("kv: a map with the policy " + std::string(s.map) +
                               " has no servers; leave --servers and --colocated out");
    options.capacity = s.records;  // all records may have one owner
  }
  auto map = pgas::make_map<std::uint64_t, std::uint64_t, Policy>(team, options);
  if (team.rank() == team.size() - 1)  // the last rank is a client on every map
    for (std::uint64_t key = 0; key < s.records; ++key) map.update(key, value_of(key, 0));
  map.serve();

  totals const mine = map.is_client() ? carry_out(team, map, s) : totals{};
  map.serve();

  auto const operations = team.all_reduce(mine.operations);
  auto const wrong = team.all_reduce(mine.wrong);
  auto const seconds = team.all_reduce(mine.seconds, pgas::op::max{});
  std::size_t servers = 0;
  std::string hits;
  if constexpr (requires { map.number_of_servers(); }) servers = map.number_of_servers();
  if constexpr (requires { map.algorithm().hits(); }) {
    auto const found = team.all_reduce(map.algorithm().hits());
    auto const lookups = team.all_reduce(map.algorithm().lookups());
    if (lookups > 0) hits = ", " + std::to_string(found * 100 / lookups) + " % of lookups found a copy";
  }
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " lookups returned a wrong value");
  if (team.rank() != 0) return;
  std::printf("kv: mix %s on %s, %d ranks, %zu of them servers: ", std::string(s.mix_name).c_str(),
              std::string(s.map).c_str(), team.size(), servers);
  if (seconds > 0)
    std::printf("%.2f million operations a second%s\n", static_cast<double>(operations) / seconds / 1e6,
                hits.c_str());
  else  // as on tile, whose clock counts messages and control words
    std::printf("%llu operations in no time, since the machine charges nothing for shared memory\n",
                static_cast<unsigned long long>(operations));
}

int main(int argc, char** argv) {
  return pgas::run<example::backends>(argc, argv, [](auto& team, auto arguments) {
    setting const s = read(arguments);
    if (s.map == "locking") return run_on<pgas::locking>(team, s);
    if (s.map == "counting") return run_on<pgas::counting>(team, s);
    if (s.map == "locked_parts") return run_on<pgas::locked_parts>(team, s);
    if (s.map == "part_simple") return run_on<pgas::part_simple>(team, s);
    if (s.map == "part_caching") return run_on<pgas::part_caching>(team, s);
    if (s.map == "rep_remote") return run_on<pgas::rep_remote>(team, s);
    if (s.map == "rep_local") return run_on<pgas::rep_local>(team, s);
    if (s.map == "rep_2pc") return run_on<pgas::rep_2pc>(team, s);
    if (s.map == "rep_sc") return run_on<pgas::rep_sc>(team, s);
    throw std::runtime_error("kv: there is no map " + example::in_quotes(s.map) +
                             "; take locking, counting, locked_parts, part_simple, part_caching, rep_remote, "
                             "rep_local, rep_2pc or "
                             "rep_sc");
  });
}
