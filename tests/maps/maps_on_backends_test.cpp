// SPDX-License-Identifier: BSL-1.0
// The promises of the maps on each model that has a channel: results, and histories in real time.
// test: addresses, threads, each way
#include <pgas/backends/tile.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/sequentially_consistent.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <random>

#include "conformance/concurrent_map.hpp"

namespace pgas_test::map_backends {

using pgas::map_on_options;
using pgas::placement;
using pgas::word;
using kv = pgas::histories::spec_map<int, int>;
using kv_record = pgas::histories::record_of<kv>;

constexpr map_on_options served_by(rank_t number, placement where) {
  return {.servers = {.number = number, .where = where}};
}

/// Calls use(map, name) for each of the six maps with some options, one after the other, on all ranks.
template <class Team, class Channel, class Use>
void with_maps(Team& team, Channel& channel, Use const& use) {
  namespace maps = pgas::maps;
  auto const on_map = [&]<class Map>(std::type_identity<Map>, std::initializer_list<map_on_options> all) {
    for (map_on_options const& options : all) {
      if (channel.size() == 1 && options.servers.where == placement::dedicated) continue;
      {
        Map map(channel, options);
        use(map);
      }
      team.barrier();  // no message of the next map may come before this one is gone
    }
  };
  auto const all = static_cast<rank_t>(channel.size());
  auto const dedicated = served_by(1, placement::dedicated);
  auto const colocated = served_by(all, placement::colocated);
  auto const one_of_all = served_by(1, placement::colocated);
  on_map(std::type_identity<maps::part_simple<int, int, Channel>>{}, {dedicated, colocated});
  on_map(std::type_identity<maps::part_caching<int, int, Channel>>{}, {dedicated, colocated});
  on_map(std::type_identity<maps::rep_remote<int, int, Channel>>{}, {dedicated, colocated});
  on_map(std::type_identity<maps::rep_local<int, int, Channel>>{}, {dedicated, colocated});
  on_map(std::type_identity<maps::rep_2pc<int, int, Channel>>{},
         {served_by(pgas::map_servers::chosen, placement::colocated)});
  on_map(std::type_identity<maps::rep_sc<int, int, Channel>>{}, {dedicated, one_of_all});
}

/// Runs body(team, channel) on every model with a channel.
template <class Body>
void on_channels(Body const& body, std::initializer_list<rank_t> sizes) {
  auto const on_one = [&]<class Model>(Model) {
    using backend = typename Model::backend;
    if constexpr (pgas::mailbox_backend<backend> || pgas::channel_backend<backend>) {
      for (rank_t ranks : sizes) {
        if (!can_have<backend>(ranks)) continue;
        on<Model>(ranks, [&](auto& team) {
          auto channel = pgas::make_channel(team);
          body(team, channel);
          team.barrier();
        });
      }
    }
  };
  for_each_model(on_one);
  if (chosen("tile")) on_one(model<pgas::backends::tile>{});
}

/// What a rank does to a map at random, with the times.
template <class Map>
std::vector<kv_record> random_calls(Map& map, rank_t rank, std::uint64_t seed, int number) {
  pgas::histories::recorder<kv> seen(rank);
  std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(rank));
  for (int i = 0; map.is_client() && i < number; ++i) {
    int const key = static_cast<int>(random() % 3);
    int const value = rank * number + i;
    switch (random() % 4) {
      case 0:
        seen.call(kv::update(key, value), [&] { map.update(key, value); });
        break;
      case 1:
        if (random() % 2 == 0) {
          seen.call(kv::erase(key), [&] { map.erase(key); });
          break;
        }
        [[fallthrough]];
      default:
        seen.call(kv::lookup(key), [&] { return map.lookup(key); });
    }
  }
  map.serve();
  return {seen.records().begin(), seen.records().end()};
}

}  // namespace pgas_test::map_backends

using namespace pgas_test;
using namespace pgas_test::map_backends;

TEST_CASE("maps: each map has the results of a map on every model with a channel") {
  on_channels(
      [](auto& team, auto& channel) {
        with_maps(team, channel, [&](auto& map) {
          auto const number = [](int i) { return i; };
          map_suite::check_results(map, team.rank(), team.size(), number, number);
        });
      },
      {1, 3});
}

TEST_CASE("maps: histories in real time keep each map's promise on every model with a channel") {
  on_channels(
      [](auto& team, auto& channel) {
        std::uint64_t seed = 0;  // of this rank
        int const number = rounds_on(team.state()->backend, 60);
        with_maps(team, channel, [&]<class Map>(Map& map) {
          auto const mine = random_calls(map, team.rank(), ++seed, number);
          auto all = pgas::make_window<kv_record>(team, static_cast<std::size_t>(number));
          auto own = all.local();
          for (std::size_t i = 0; i < own.size(); ++i)
            own[i] = i < mine.size() ? mine[i] : kv_record{.rank = -1};
          pgas::histories::history<kv> seen;
          { pgas::fence begin{all}; }
          pgas::lock_all epoch{all};
          for (rank_t rank = 0; team.rank() == 0 && rank < team.size(); ++rank) {
            for (std::size_t i = 0; i < own.size(); ++i) {
              kv_record const one = epoch.get(rank, i);
              if (one.rank >= 0) seen.append(std::span(&one, 1));
            }
          }
          auto const verdict = Map::promises == pgas::consistency::linearizable
                                   ? check_linearizable(seen)
                                   : check_sequentially_consistent(seen);
          require(verdict.found != pgas::histories::finding::wrong,
                  std::string(Map::name) + ": " + verdict.text);
        });
      },
      {3});
}

namespace pgas_test::map_backends {

/// A key whose second member takes no part in its value, for a program's own hash and equality.
struct place {
  int row = 0;
  int note = 0;
};
struct hash_of_row {
  std::size_t operator()(place const& p) const noexcept { return static_cast<std::size_t>(p.row); }
};
struct same_row {
  bool operator()(place const& a, place const& b) const noexcept { return a.row == b.row; }
};

/// Makes a map by a policy, and checks the operations that all policies have. All ranks are clients, and the
/// model chooses the number of servers where the policy has any.
template <auto Policy, class Team>
void check_policy(Team& team) {
  typename decltype(Policy)::options options{};
  if constexpr (requires { options.servers; }) options.servers.where = placement::colocated;
  auto map = pgas::make_map<place, int, Policy, hash_of_row, same_row>(team, options);
  using map_type = decltype(map);
  static_assert(pgas::concurrent_map<map_type>);
  auto const name = std::string(map_type::name);
  std::pair<place, int> const mine{{team.rank(), 1}, team.rank() + 100};
  map.update(std::span(&mine, 1));
  map.serve();
  for (int r = 0; r < team.size(); ++r) {
    require(map.lookup(place{r, 2}) == r + 100, name + ": every rank finds a key by the program's equality");
    require(map.contains(place{r, 3}), name + ": a key that a rank has updated is present");
  }
  std::array<place, 2> const keys{place{team.rank(), 4}, place{team.size(), 0}};
  std::array<std::optional<int>, 2> values{7, 7};
  map.lookup(std::span<place const>(keys), std::span<std::optional<int>>(values));
  require(values[0] == team.rank() + 100 && !values[1], name + ": a lookup of many keys finds those present");
  require_error(errc::invalid_argument, {"1 results for 2 keys"}, [&] {
    map.lookup(std::span<place const>(keys), std::span<std::optional<int>>(values).first(1));
  });
  map.serve();
  map.erase(place{team.rank(), 5});
  map.serve();
  for (int r = 0; r < team.size(); ++r)
    require(!map.contains(place{r, 0}), name + ": a key that a rank has erased is absent on all ranks");
  map.serve();
}

}  // namespace pgas_test::map_backends

TEST_CASE("make_map: a rank that names any of the eight policies gets a map with the common operations") {
  on_channels(
      [](auto& team, auto&) {
        check_policy<pgas::locking>(team);
        check_policy<pgas::counting>(team);
        check_policy<pgas::part_simple>(team);
        check_policy<pgas::part_caching>(team);
        check_policy<pgas::rep_remote>(team);
        check_policy<pgas::rep_local>(team);
        check_policy<pgas::rep_2pc>(team);
        check_policy<pgas::rep_sc>(team);
      },
      {1, 3});
}

TEST_CASE("make_map: a rank of a map with copies learns how many lookups found one") {
  on_channels(
      [](auto& team, auto&) {
        auto map = pgas::make_map<int, double, pgas::part_caching>(
            team, served_by(team.size(), placement::colocated));
        require(map.number_of_servers() == static_cast<std::size_t>(team.size()), "all ranks serve");
        map.update(team.rank(), 0.5 * team.rank());
        map.serve();
        for (int r = 0; r < team.size(); ++r)
          require(map.lookup(r) == 0.5 * r && map.lookup(r) == 0.5 * r, "all ranks see all updates");
        auto const& counted = map.algorithm();
        require(counted.lookups() == 2 * static_cast<std::uint64_t>(team.size()), "lookups are counted");
        require(counted.hits() <= static_cast<std::uint64_t>(team.size()), "a first lookup finds no copy");
        map.serve();
      },
      {1, 3});
}

TEST_CASE("make_map: a team without room for the servers is refused on every rank") {
  on_channels(
      [](auto& team, auto&) {
        require_error(
            errc::invalid_argument, {"part_simple", "1 to 2 dedicated servers, and 3 were asked for"}, [&] {
              auto map = pgas::make_map<int, int, pgas::part_simple>(team, {.servers = {.number = 3}});
            });
      },
      {3});
}

namespace pgas_test::map_backends {

/// Twenty cores of an emulated machine with short queues fill all caches of a map, and update all keys at
/// once. Returns the error, or an empty text.
std::string error_with_short_queues(std::size_t words, map_on_options const& options) {
  auto how = pgas::tile_machine::with_options::chosen();
  how.queue_words = words;
  pgas::tile_machine::with_options const chosen_queues(how);
  try {
    pgas::run<pgas::backends::tile>(20, [&](auto& team) {
      auto map = pgas::make_map<int, int, pgas::part_caching>(team, options);
      for (int round = 1; round <= 3; ++round) {
        if (map.is_client()) {
          for (int key = 0; key < team.size(); ++key)
            if (auto const found = map.lookup(key)) require(*found % 100 == key, "a value is one of its key");
          team.charge(1'000);
          map.update(team.rank(), 100 * round + team.rank());
        }
        map.serve();
        for (int key = 0; map.is_client() && key < team.size(); ++key) {
          bool const has_client =
              options.servers.where == placement::colocated || key >= options.servers.number;
          require(map.lookup(key).value_or(0) == (has_client ? 100 * round + key : 0), "all see all updates");
        }
        map.serve();
      }
    });
  } catch (std::exception const& e) {
    return e.what();
  }
  return "";
}

/// The operations a second of a map on twelve cores of an emulated machine, over those that the model
/// predicts: nine lookups in ten, 100 keys that are used alike, and no conflict, since few operations meet.
/// Keys go to servers by their remainder, so that all servers have as many.
template <auto Policy>
double emulated_over_model(pgas::map_model::map_kind kind, pgas::tile_machine::costs const& times,
                           int servers) {
  constexpr int cores = 12;
  constexpr int calls = 1'000;
  auto how = pgas::tile_machine::with_options::chosen();
  how.clock = &times;
  pgas::tile_machine::with_options const chosen_times(how);
  double const emulated = pgas::run<pgas::backends::tile>(cores, [&](auto& team) {
    map_on_options options{.costs = {.pre = 12, .lookup = 11, .update = 11}};
    if (servers > 0) options.servers.number = servers;
    auto map = pgas::make_map<word, word, Policy, std::hash<word>>(team, options);
    if (team.rank() == cores - 1)
      for (word key = 0; key < 100; ++key) map.update(key, key);
    map.serve();
    word const begin = pgas::tile_machine::cycles_of(team);
    word end = begin;
    if (map.is_client()) {
      std::mt19937_64 random(static_cast<word>(team.rank()) + 1);
      for (int i = 0; i < calls; ++i) {
        word const key = random() % 100;
        if (random() % 10 == 0)
          map.update(key, random());
        else
          static_cast<void>(map.lookup(key));
      }
      end = pgas::tile_machine::cycles_of(team);
    }
    map.serve();
    word const all = team.all_reduce(map.is_client() ? word{calls} : 0);
    return static_cast<double>(all) / static_cast<double>(team.all_reduce(end - begin, pgas::op::max{}));
  });
  bool const is_alone = kind != pgas::map_model::map_kind::part_caching;
  pgas::map_model::machine const machine{.interrupt = static_cast<double>(times.interrupt),
                                         .sends_to_many = times.has_multicast,
                                         .words = pgas::detail::lengths_of_messages<word, word>(is_alone)};
  return emulated * machine.frequency / pgas::map_model::throughput(kind, machine, {}, cores, servers);
}

}  // namespace pgas_test::map_backends

TEST_CASE("maps: caching servers whose clients' queues are short hold updates back, and no rank stops") {
  if (!chosen("tile")) return;
  for (rank_t const servers : {1, 2}) {
    std::size_t const for_clients = 2 + 2 * static_cast<std::size_t>(servers);
    CHECK(error_with_short_queues(for_clients, served_by(servers, placement::dedicated)) == "");
    CHECK(error_with_short_queues(for_clients - 1, served_by(servers, placement::dedicated))
              .find("part_caching: up to " + std::to_string(for_clients) + " words") != std::string::npos);
    CHECK(error_with_short_queues(19, served_by(servers, placement::colocated)) == "");
    CHECK(error_with_short_queues(18, served_by(servers, placement::colocated))
              .find("part_caching: up to 19 words") != std::string::npos);
  }
}

TEST_CASE("maps: on the emulated machine each map is as fast as its model says, within 12 percent") {
  if (!chosen("tile")) return;
  using pgas::map_model::map_kind;
  for (auto const* times : {&pgas::tile_machine::tile_gx, &pgas::tile_machine::ideal}) {
    auto const is_near = [&](double ratio) {
      INFO(std::string(times->name));
      CHECK(ratio == doctest::Approx(1).epsilon(0.12));
    };
    is_near(emulated_over_model<pgas::part_simple>(map_kind::part_simple, *times, 1));
    is_near(emulated_over_model<pgas::part_simple>(map_kind::part_simple, *times, 4));
    is_near(emulated_over_model<pgas::part_caching>(map_kind::part_caching, *times, 1));
    is_near(emulated_over_model<pgas::rep_remote>(map_kind::rep_remote, *times, 1));
    is_near(emulated_over_model<pgas::rep_local>(map_kind::rep_local, *times, 1));
    is_near(emulated_over_model<pgas::rep_2pc>(map_kind::rep_2pc, *times, 0));
    is_near(emulated_over_model<pgas::rep_sc>(map_kind::rep_sc, *times, 1));
  }
}
