// SPDX-License-Identifier: BSL-1.0
// The promises of the maps on channels: results, histories under an adversary, and a wrong history for each
// wrong variant.
// test: addresses, optimized, unit maps
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/sequentially_consistent.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <string>

#include "broadcast_mutants.hpp"
#include "conformance/concurrent_map.hpp"
#include "maps_mutants.hpp"
#include "support/adversarial_channel.hpp"

namespace pgas_test::maps_suite {

using pgas::map_on_options;
using pgas::map_servers;
using pgas::placement;
using pgas::histories::history;
using kv = pgas::histories::spec_map<int, int>;
using calls = std::vector<kv::operation>;
using plan = std::vector<calls>;  ///< of each client

/// Keys go to servers by their remainder, so that a test knows the server of a key.
struct by_remainder : pgas::map_traits<int> {
  using hash = std::hash<int>;
};
namespace mutants = maps_mutants;

template <bool Interrupts = false>
using channel_type = adversarial_channel<Interrupts>;

struct outcome {
  run_end end = run_end::done;
  history<kv> seen;
  std::string wrong;  ///< what is wrong, or empty
  std::uint64_t messages = 0;
};

/// Updates or erases. Returns false if the map had to give up: an eager machine lets nobody wait for a while.
template <class Map>
bool carries_out(Map& map, kv::operation const& o, bool tries_once) {
  bool const updates = o.kind == pgas::histories::map_call::update;
  if constexpr (requires { map.try_erase(o.key); }) {
    if (tries_once) return updates ? map.try_update(o.key, o.value) : map.try_erase(o.key);
  }
  if (updates)
    map.update(o.key, o.value);
  else
    map.erase(o.key);
  return true;
}

/// A map's clients carry out a plan, beside dedicated servers that `options` number. Then each looks up all
/// keys, since replicas must agree in the end.
template <class Map, bool Interrupts>
outcome carried_out(plan const& what, map_on_options options, machine_options machine_is,
                    adversary& choices) {
  outcome result;
  rank_t const clients = static_cast<rank_t>(what.size());
  rank_t const ranks = clients + (options.servers.where == placement::dedicated ? options.servers.number : 0);
  machine_is.interrupts = Interrupts;
  adversarial_machine machine(ranks, machine_is, choices);
  std::vector<history<kv>> parts(static_cast<std::size_t>(ranks));
  result.end = machine.run([&](rank_t rank) {
    adversarial_channel<Interrupts> channel(machine, rank);
    Map map(channel, options);
    if (map.is_client()) {
      auto const mine = static_cast<std::size_t>(rank - (ranks - clients));
      auto& seen = parts[static_cast<std::size_t>(rank)];
      auto const call = [&](kv::operation const& o) {
        auto const begin = machine.calls();
        kv::result got;
        if (o.kind == pgas::histories::map_call::lookup)
          got = map.lookup(o.key);
        else if (!carries_out(map, o, machine_is.is_eager))
          return;
        seen.add(rank, o, got, begin, machine.returns());
      };
      std::vector<int> keys;
      for (calls const& c : what)
        for (kv::operation const& o : c) keys.push_back(o.key);
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      for (kv::operation const& o : what[mine]) {
        machine.step(rank);
        call(o);
      }
      if (machine_is.is_eager) machine.poll(rank);  // in a meeting, handlers run for later messages only
      machine.meet(rank, what.size());
      for (int const key : keys) call(kv::lookup(key));
    }
    map.serve();
  });
  result.messages = machine.messages();
  result.seen = pgas::histories::join(std::span<history<kv> const>(parts));
  if (result.end == run_end::deadlock) result.wrong = "all ranks wait";
  if (result.end == run_end::endless) result.wrong = "the run does not end";
  if (result.end != run_end::done) return result;
  auto const verdict = Map::promises == pgas::consistency::linearizable
                           ? check_linearizable(result.seen)
                           : check_sequentially_consistent(result.seen);
  if (!verdict.right) result.wrong = verdict.text;
  return result;
}

/// The time that a seeded case may take.
std::chrono::duration<double> time_of_a_case() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return std::chrono::duration<double>(budget != nullptr ? std::atof(budget) : 2.0);
}
class stopwatch {
 public:
  explicit stopwatch(std::chrono::duration<double> budget) : end_(now() + budget) {}
  [[nodiscard]] bool has_time() const { return now() < end_; }

 private:
  static std::chrono::duration<double> now() { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::chrono::duration<double> end_;
};

/// A random plan of `clients` clients with `length` operations each on the keys 0 to keys - 1. All values
/// differ.
plan random_plan(std::uint64_t seed, std::size_t clients, std::size_t length, int keys) {
  std::mt19937_64 random(seed);
  plan all(clients);
  int value = 0;
  for (calls& mine : all) {
    for (std::size_t i = 0; i < length; ++i) {
      int const key = static_cast<int>(random() % static_cast<std::uint64_t>(keys));
      switch (random() % 5) {
        case 0:
        case 1:
          mine.push_back(kv::update(key, ++value));
          break;
        case 2:
          mine.push_back(kv::erase(key));
          break;
        default:
          mine.push_back(kv::lookup(key));
      }
    }
  }
  return all;
}

/// Carries out random plans on random numbers of servers until the time is over.
template <template <class, class, class, class> class Map, bool Interrupts>
void search(std::chrono::duration<double> budget, std::span<rank_t const> servers) {
  using map = Map<int, int, channel_type<Interrupts>, by_remainder>;
  stopwatch const watch(budget);
  std::uint64_t seed = 0;
  for (; watch.has_time(); ++seed) {
    std::mt19937_64 random(seed + 1);
    bool const is_colocated = random() % 2 != 0;
    std::size_t const clients = 2 + random() % 3;
    map_on_options options;
    if (!servers.empty()) {
      options.servers.number = servers[random() % servers.size()];
      options.servers.where = is_colocated ? placement::colocated : placement::dedicated;
      if (is_colocated)
        options.servers.number = std::min(options.servers.number, static_cast<rank_t>(clients));
    }
    std::size_t const room = random() % 2 == 0 ? 118 : 24;
    seeded_adversary choices(seed);
    auto const result = carried_out<map, Interrupts>(random_plan(seed, clients, 2 + random() % 4, 2), options,
                                                     {.room = room}, choices);
    INFO(std::string(map::name), ", seed ", seed, ", servers ", options.servers.number, ", room ", room);
    REQUIRE_MESSAGE(result.wrong.empty(), result.wrong);
  }
  std::cout << "covered: " << seed << " seeds of " << map::name << (Interrupts ? " with interrupts" : "")
            << '\n';
}

/// The first seed at which a plan goes wrong, among `most`. The right variant is right at all seeds until
/// then.
template <class Right, class Wrong, bool Interrupts = false>
void is_found(std::string const& what, plan const& acts, map_on_options options,
              std::uint64_t most = 30'000) {
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    seeded_adversary choices(seed);
    seeded_adversary same_choices(seed);
    auto const right = carried_out<Right, Interrupts>(acts, options, {}, choices);
    REQUIRE_MESSAGE(right.wrong.empty(), right.wrong);
    auto const wrong = carried_out<Wrong, Interrupts>(acts, options, {.most_steps = 5'000}, same_choices);
    if (wrong.wrong.empty()) continue;
    std::cout << "covered: " << Right::name << ", " << what << ": wrong at seed " << seed << ": "
              << wrong.wrong << '\n';
    return;
  }
  FAIL(std::string(Right::name), " is right, although ", what);
}

/// Carries out a plan in all orders of its operations and messages, or in as many as the time allows. Returns
/// what is wrong in the first wrong one.
template <class Map, bool Interrupts = false>
std::string in_all_orders(std::string const& what, plan const& acts, map_on_options options,
                          std::chrono::duration<double> budget) {
  stopwatch const watch(budget);
  all_orders choices;
  std::uint64_t orders = 0;
  bool has_more = true;
  for (; has_more && watch.has_time(); has_more = choices.next_order()) {
    auto const result =
        carried_out<Map, Interrupts>(acts, options, {.is_eager = true, .most_steps = 5'000}, choices);
    if (result.end != run_end::pruned) ++orders;
    if (result.wrong.empty()) continue;
    std::cout << "covered: " << Map::name << ", " << what << ": wrong in order " << orders << '\n';
    return result.wrong;
  }
  std::cout << "covered: " << (has_more ? "" : "all ") << orders << " orders of " << what << " on "
            << Map::name << (Interrupts ? " with interrupts" : "") << '\n';
  return "";
}

constexpr map_on_options with_servers(rank_t number, placement where = placement::dedicated) {
  return {.servers = {.number = number, .where = where}};
}

/// Checks the results of a map on an adversarial machine, with some seeds.
template <class Map, class KeyOf, class ValueOf>
void results_on_a_machine(rank_t ranks, map_on_options options, KeyOf key, ValueOf value) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    seeded_adversary choices(seed);
    adversarial_machine machine(ranks, {.most_steps = 1'000'000}, choices);
    auto const end = machine.run([&](rank_t rank) {
      channel_type<> channel(machine, rank);
      Map map(channel, options);
      map_suite::check_results(map, rank, ranks, key, value);
    });
    CHECK(end == run_end::done);
  }
}

struct by_number : pgas::map_traits<map_suite::padded_key> {
  using hash = map_suite::padded_key_hash;
};

/// Plain numbers, keys with padding, and keys and values of several words.
template <template <class, class, class, class> class Map>
void results_of(std::initializer_list<map_on_options> all) {
  using map_suite::padded_key;
  using words =
      Map<map_suite::text_key, map_suite::wide_value, channel_type<>, pgas::map_traits<map_suite::text_key>>;
  unsigned char filling = 0;
  auto const number = [](int i) { return i; };
  for (map_on_options const& options : all) {
    results_on_a_machine<Map<int, int, channel_type<>, pgas::map_traits<int>>>(5, options, number, number);
    results_on_a_machine<Map<padded_key, double, channel_type<>, by_number>>(
        5, options, [&](int i) { return map_suite::padded(i, ++filling); }, [](int i) { return 0.5 * i; });
    results_on_a_machine<words>(5, options, map_suite::text_of, map_suite::wide);
  }
}

constexpr map_on_options without_servers{
    .servers = {.number = map_servers::chosen, .where = placement::colocated}};

}  // namespace pgas_test::maps_suite

using namespace pgas_test;
using namespace pgas_test::maps_suite;
namespace maps = pgas::maps;

TEST_CASE("maps: each map has the results of a map, for keys and values of any transportable type") {
  constexpr auto colocated = placement::colocated;
  results_of<maps::part_simple>(
      {{}, with_servers(3), with_servers(2, colocated), with_servers(5, colocated)});
  results_of<maps::part_caching>(
      {{}, with_servers(3), with_servers(2, colocated), with_servers(5, colocated)});
  results_of<maps::rep_remote>({{}, with_servers(3), with_servers(2, colocated)});
  results_of<maps::rep_local>({{}, with_servers(3), with_servers(2, colocated)});
  results_of<maps::rep_2pc>({{}});
  results_of<maps::rep_sc>({{}, with_servers(1, colocated)});
}

TEST_CASE("maps: random histories under an adversary keep each map's promise") {
  auto const share = time_of_a_case() / 12;
  std::vector<rank_t> const some{1, 2, 3, 4};
  std::vector<rank_t> const one{1};
  std::vector<rank_t> const none;
  search<maps::part_simple, false>(share, some);
  search<maps::part_simple, true>(share, some);
  search<maps::part_caching, false>(share, some);
  search<maps::part_caching, true>(share, some);
  search<maps::rep_remote, false>(share, some);
  search<maps::rep_remote, true>(share, some);
  search<maps::rep_local, false>(share, some);
  search<maps::rep_local, true>(share, some);
  search<maps::rep_2pc, false>(share, none);
  search<maps::rep_2pc, true>(share, none);
  search<maps::rep_sc, false>(share, one);
  search<maps::rep_sc, true>(share, one);
}

TEST_CASE("maps: each map keeps its promise in all orders of a few operations, as far as the time allows") {
  plan const small{{kv::update(0, 1)}, {kv::lookup(0), kv::lookup(0)}};
  plan const two_write{{kv::update(0, 1), kv::lookup(0)}, {kv::update(0, 2), kv::lookup(0)}};
  plan const three{{kv::update(0, 1), kv::lookup(1), kv::erase(0), kv::lookup(1)},
                   {kv::update(1, 2), kv::lookup(0), kv::update(0, 3), kv::lookup(0)},
                   {kv::lookup(0), kv::lookup(1), kv::lookup(1), kv::lookup(0)}};
  auto const share = time_of_a_case() / 20;
  auto const check = [&]<class Map>(std::type_identity<Map>, map_on_options options) {
    CHECK(in_all_orders<Map>("an update and two lookups", small, options, share) == "");
    CHECK(in_all_orders<Map>("two updates and two lookups", two_write, options, share) == "");
    CHECK(in_all_orders<Map>("twelve operations of three clients", three, options, share) == "");
  };
  check(std::type_identity<maps::part_simple<int, int, channel_type<>, by_remainder>>{}, with_servers(1));
  check(std::type_identity<maps::part_caching<int, int, channel_type<>, by_remainder>>{}, with_servers(1));
  check(std::type_identity<maps::rep_remote<int, int, channel_type<>, by_remainder>>{}, with_servers(1));
  check(std::type_identity<maps::rep_local<int, int, channel_type<>, by_remainder>>{}, with_servers(1));
  check(std::type_identity<maps::rep_2pc<int, int, channel_type<>, by_remainder>>{}, without_servers);
  check(std::type_identity<maps::rep_sc<int, int, channel_type<>, by_remainder>>{}, with_servers(1));
}

/// The search ends where it finds the wrong variant, so its time is only a bound for one that it would miss.
template <class Map>
void is_found_in_orders(std::string const& what, plan const& acts, map_on_options options = with_servers(1)) {
  CHECK_MESSAGE(in_all_orders<Map>(what, acts, options, std::chrono::seconds(30)) != "", what);
}

TEST_CASE("maps: the search through all orders finds wrong variants") {
  plan const one_writes{{kv::update(0, 1)}, {kv::lookup(0)}, {kv::lookup(0)}};
  // A replica votes in its first lookup, and the second one is wrong.
  plan const many_lookups{{kv::update(0, 1)}, calls(2, kv::lookup(0)), calls(2, kv::lookup(0))};
  plan const two_write{{kv::update(0, 1)}, {kv::update(0, 2)}};
  using no_hold_back = broadcast_mutants::no_hold_back;
  is_found_in_orders<
      mutants::caching_serves_pending_keys::part_caching<int, int, channel_type<>, by_remainder>>(
      "serves pending keys", one_writes);
  is_found_in_orders<mutants::remote_no_wait::rep_remote<int, int, channel_type<>, by_remainder>>(
      "lookups do not wait", one_writes);
  is_found_in_orders<no_hold_back::rep_remote<int, int, channel_type<>, by_remainder>>("no hold-back queue",
                                                                                       two_write);
  is_found_in_orders<mutants::local_as_printed::rep_local<int, int, channel_type<>, by_remainder>>(
      "shows updates as second messages arrive", two_write);
  is_found_in_orders<mutants::two_phase_no_flag::rep_2pc<int, int, channel_type<>, by_remainder>>(
      "lookups do not wait", many_lookups, without_servers);
}

TEST_CASE("maps: part_simple without acknowledgments loses an update that has returned") {
  using right = maps::part_simple<int, int, channel_type<>, by_remainder>;
  using wrong = mutants::simple_no_acknowledgment::part_simple<int, int, channel_type<>, by_remainder>;
  is_found<right, wrong>("an update returns before its server has it",
                         {{kv::update(0, 1)}, {kv::lookup(0), kv::lookup(0)}}, with_servers(1));
}

template <class Mutant>
void caching_fault_is_found(std::string const& what, plan const& acts,
                            placement where = placement::dedicated) {
  using right = maps::part_caching<int, int, channel_type<>, by_remainder>;
  using wrong = typename Mutant::template part_caching<int, int, channel_type<>, by_remainder>;
  is_found<right, wrong>(what, acts, with_servers(1, where));
}

TEST_CASE("maps: each wrong variant of part_caching has a wrong history") {
  plan const one_writes{{kv::update(0, 1), kv::update(0, 2)},
                        {kv::lookup(0), kv::lookup(0), kv::lookup(0)},
                        {kv::lookup(0), kv::lookup(0), kv::lookup(0)}};
  caching_fault_is_found<mutants::caching_serves_pending_keys>(
      "a server answers lookups of a key with a pending update", one_writes);
  caching_fault_is_found<mutants::caching_invalidates_aside>("an invalidation overtakes the copy",
                                                             one_writes);
  caching_fault_is_found<mutants::caching_nil_is_absent>("a dropped copy is taken for an absent key",
                                                         one_writes);
  caching_fault_is_found<mutants::caching_ignores_messages>(
      "a client drops no copy while it waits", {{kv::lookup(0), kv::update(0, 1)}, {kv::lookup(0)}});
}

TEST_CASE("maps: part_caching sends no invalidation to a client without a copy") {
  auto const messages = []<class Map>(std::type_identity<Map>) {
    seeded_adversary choices(1);
    plan const acts{{kv::lookup(0), kv::update(0, 1), kv::update(0, 2), kv::update(0, 3)}};
    auto const result = carried_out<Map, false>(acts, with_servers(1), {}, choices);
    REQUIRE(result.wrong.empty());
    return result.messages;
  };
  using right = maps::part_caching<int, int, channel_type<>, by_remainder>;
  using wrong = mutants::caching_keeps_copies::part_caching<int, int, channel_type<>, by_remainder>;
  // Five operations, one invalidation, and the end of the run.
  CHECK(messages(std::type_identity<right>{}) == 5 * 2 + 2 + 2);
  CHECK(messages(std::type_identity<wrong>{}) > 5 * 2 + 2 + 2);
}

TEST_CASE("maps: each wrong variant of rep_remote has a wrong history") {
  using right = maps::rep_remote<int, int, channel_type<>, by_remainder>;
  using no_hold_back = broadcast_mutants::no_hold_back;
  using one_count = broadcast_mutants::one_count;
  is_found<right, mutants::remote_no_wait::rep_remote<int, int, channel_type<>, by_remainder>>(
      "a lookup does not wait", {{kv::update(0, 1), kv::lookup(0)}, {kv::lookup(0)}, {kv::lookup(0)}},
      with_servers(1));
  is_found<right, no_hold_back::rep_remote<int, int, channel_type<>, by_remainder>>(
      "replicas apply updates as they arrive", {{kv::update(0, 1)}, {kv::update(0, 2)}, {kv::lookup(0)}},
      with_servers(1));
  is_found<right, one_count::rep_remote<int, int, channel_type<>, by_remainder>>(
      "a replica counts the updates of all sequencers together",
      {{kv::update(0, 1)}, {kv::update(1, 2)}, {kv::lookup(0), kv::lookup(1)}}, with_servers(2));
}

TEST_CASE("maps: each wrong variant of rep_local has a wrong history") {
  using right = maps::rep_local<int, int, channel_type<>, by_remainder>;
  plan const two_write{{kv::update(0, 1)}, {kv::update(0, 2)}, {kv::lookup(0), kv::lookup(0)}};
  is_found<right, mutants::local_as_printed::rep_local<int, int, channel_type<>, by_remainder>>(
      "replicas show updates as their second messages arrive", two_write, with_servers(1));
  is_found<right, mutants::local_no_flag::rep_local<int, int, channel_type<>, by_remainder>>(
      "a lookup does not wait for pending updates", {{kv::update(0, 1)}, {kv::lookup(0)}, {kv::lookup(0)}},
      with_servers(1));
  is_found<right, mutants::local_waits_in_silence::rep_local<int, int, channel_type<>, by_remainder>>(
      "an update does not serve while it waits", two_write, with_servers(1));
}

TEST_CASE("maps: each wrong variant of rep_2pc has a wrong history") {
  using right = maps::rep_2pc<int, int, channel_type<>, by_remainder>;
  using back_off_alone = mutants::two_phase_no_back_off::rep_2pc<int, int, channel_type<>, by_remainder>;
  plan const all_write{{kv::update(0, 1), kv::update(0, 2)},
                       {kv::update(0, 3), kv::update(0, 4)},
                       {kv::update(0, 5), kv::lookup(0)},
                       {kv::lookup(0), kv::lookup(0)}};
  is_found<right, mutants::two_phase_as_printed::rep_2pc<int, int, channel_type<>, by_remainder>>(
      "a higher number takes a vote away", all_write, without_servers);
  is_found<right, mutants::two_phase_no_flag::rep_2pc<int, int, channel_type<>, by_remainder>>(
      "a lookup does not wait for pending updates",
      {{kv::update(0, 1), kv::update(0, 2)}, calls(6, kv::lookup(0)), calls(6, kv::lookup(0))},
      without_servers);

  plan const same_speed{{kv::update(0, 1)}, {kv::update(0, 2)}, {kv::update(0, 3)}};
  in_step at_right;
  auto const apart = carried_out<right, false>(same_speed, without_servers, {}, at_right);
  CHECK_MESSAGE(apart.wrong.empty(), apart.wrong);
  in_step at_wrong;
  CHECK(carried_out<back_off_alone, false>(same_speed, without_servers, {}, at_wrong).end ==
        run_end::endless);
}

TEST_CASE("maps: each wrong variant of rep_sc has a wrong history") {
  using right = maps::rep_sc<int, int, channel_type<>, by_remainder>;
  using no_hold_back = broadcast_mutants::no_hold_back;
  is_found<right, mutants::sequential_returns_too_early::rep_sc<int, int, channel_type<>, by_remainder>>(
      "an update returns before its replica has it", {{kv::update(0, 1), kv::lookup(0)}, {kv::update(0, 2)}},
      with_servers(1));
  is_found<right, no_hold_back::rep_sc<int, int, channel_type<>, by_remainder>>(
      "replicas apply updates as they arrive",
      {{kv::update(0, 1)},
       {kv::update(0, 2)},
       {kv::lookup(0), kv::lookup(0)},
       {kv::lookup(0), kv::lookup(0)}},
      with_servers(1));

  // Two readers see two updates in opposite orders, which one sequencer does not allow.
  plan const readers{
      {kv::update(0, 1)}, {kv::update(1, 2)}, {kv::lookup(0), kv::lookup(1)}, {kv::lookup(1), kv::lookup(0)}};
  using two = mutants::sequential_many_sequencers::rep_sc<int, int, channel_type<>, by_remainder>;
  for (std::uint64_t seed = 0;; ++seed) {
    REQUIRE(seed < 100'000);
    seeded_adversary choices(seed);
    auto const result = carried_out<two, false>(readers, with_servers(2), {}, choices);
    if (result.wrong.empty()) continue;
    std::cout << "covered: rep_sc, with two sequencers: wrong at seed " << seed << ": " << result.wrong
              << '\n';
    break;
  }
}

TEST_CASE("maps: servers that a team does not have, or a map cannot use, are refused") {
  auto const made = [](rank_t ranks, auto const& make) {
    seeded_adversary choices(0);
    adversarial_machine machine(ranks, {}, choices);
    std::string all;
    machine.run([&](rank_t rank) {
      channel_type<> channel(machine, rank);
      try {
        make(channel);
      } catch (pgas::error const& e) {
        if (rank == 0) all = e.what();
      }
    });
    return all;
  };
  auto const with = [](map_on_options options) {
    return
        [options](channel_type<>& channel) { maps::part_simple<int, int, channel_type<>>(channel, options); };
  };
  CHECK(made(3, with(with_servers(3))) ==
        "rank 0: part_simple: a team of 3 has room for 1 to 2 dedicated servers, and 3 were asked for; name "
        "fewer, or take more ranks: invalid argument");
  CHECK(made(3, with(with_servers(4, placement::colocated))) ==
        "rank 0: part_simple: a team of 3 has room for 1 to 3 colocated servers, and 4 were asked for; name "
        "fewer, or take more ranks: invalid argument");
  CHECK(made(3, with(with_servers(-1))).find("and -1 were asked for") != std::string::npos);
  CHECK(made(3, with(with_servers(3, placement::colocated))) == "");
  CHECK(made(4,
             [](channel_type<>& channel) {
               maps::rep_sc<int, int, channel_type<>>(channel, with_servers(2));
             }) ==
        "rank 0: rep_sc: updates of 2 sequencers have no common order; take one, or another map: invalid "
        "argument");
  CHECK(made(3, [](channel_type<>& channel) {
          maps::rep_2pc<int, int, channel_type<>>(channel, with_servers(1));
        }) == "rank 0: rep_2pc: this map has no servers; leave their number out: invalid argument");
}

TEST_CASE("maps: a second map on a channel is refused until the first one is gone") {
  seeded_adversary choices(0);
  adversarial_machine machine(2, {}, choices);
  std::string refused;
  bool is_free = false;
  machine.run([&](rank_t rank) {
    channel_type<> channel(machine, rank);
    {
      maps::part_simple<int, int, channel_type<>> first(channel);
      try {
        maps::rep_sc<int, int, channel_type<>> second(channel);
      } catch (pgas::error const& e) {
        if (rank == 1) refused = e.what();
      }
      channel_type<> another(machine, rank);
      maps::rep_sc<int, int, channel_type<>> elsewhere(another);
    }
    maps::rep_sc<int, int, channel_type<>> later(channel);
    if (rank == 1) is_free = true;
  });
  CHECK(
      refused ==
      "rank 1: rep_sc: the channel carries another map, and the messages of both would mix; destroy that map "
      "first, or make a channel for each: calls in the wrong order");
  CHECK(is_free);
}

namespace pgas_test::maps_suite {

/// A channel that says how much room its queues have.
template <std::size_t Words>
struct narrow_channel : channel_type<> {
  using channel_type<>::channel_type;
  [[nodiscard]] static constexpr std::size_t queue_words() { return Words; }
};

/// The error of a map on such a channel, or an empty text.
template <template <class, class, class, class> class Map, std::size_t Words>
std::string error_in_room(rank_t ranks) {
  using channel = narrow_channel<Words>;
  seeded_adversary choices(0);
  adversarial_machine machine(ranks, {}, choices);
  std::string all;
  machine.run([&](rank_t rank) {
    channel mine(machine, rank);
    try {
      Map<int, int, channel, pgas::map_traits<int>> const map(mine, {});
    } catch (pgas::error const& e) {
      if (rank == 0) all = e.what();
    }
  });
  return all;
}

}  // namespace pgas_test::maps_suite

TEST_CASE("maps: a map whose answers may not fit into a client's queue is refused") {
  // One rank of five is a server: two words for an answer, and two for an invalidation.
  CHECK(error_in_room<maps::part_caching, 4>(5) == "");
  CHECK(error_in_room<maps::part_caching, 3>(5) ==
        "rank 0: part_caching: up to 4 words may be under way to a client's queue of answers, which has room "
        "for 3; take fewer ranks, or shorter keys and values: invalid argument");
  CHECK(error_in_room<maps::rep_local, 3>(5) == "");
  CHECK(error_in_room<maps::rep_local, 2>(5).find("up to 3 words") != std::string::npos);
  CHECK(error_in_room<maps::rep_2pc, 4>(5) == "");
  CHECK(error_in_room<maps::rep_2pc, 3>(5).find("up to 4 words") != std::string::npos);
  CHECK(error_in_room<maps::rep_sc, 1>(5) == "");
  CHECK(error_in_room<maps::part_simple, 1>(5).find("up to 2 words") != std::string::npos);
}

TEST_CASE("map_servers: a key's server is its hash modulo their number") {
  using pgas::detail::placed_servers;
  for (rank_t number : {1, 2, 3, 4, 7, 8}) {
    placed_servers const servers({.number = number}, 0, 12, 1, "map");
    for (std::size_t hash : {std::size_t{0}, std::size_t{1}, std::size_t{12345}, ~std::size_t{0}})
      CHECK(servers.of(hash) == static_cast<rank_t>(hash % static_cast<std::size_t>(number)));
    CHECK(servers.clients().size() == static_cast<std::size_t>(12 - number));
  }
  CHECK(placed_servers({}, 0, 12, 4, "map").number() == 4);
}

TEST_CASE("map_message: a message carries values of any size, and its end tells whether there is one") {
  using namespace pgas::detail;
  map_message<8> const with(
      map_message<8>(map_kind::update, 77).add_value('k').add_value(std::optional(2.5)));
  map_reader read(with);
  CHECK(std::span<word const>(with).size() == 3);
  CHECK(read.kind() == map_kind::update);
  CHECK(read.number() == 77);
  CHECK(read.value<char>() == 'k');
  CHECK(read.last_value<double>() == 2.5);
  map_message<8> const without(
      map_message<8>(map_kind::update).add_value('k').add_value(std::optional<double>()));
  map_reader read_it(without);
  CHECK(read_it.value<char>() == 'k');
  CHECK(!read_it.last_value<double>());
  using wide = map_suite::wide_value;
  CHECK(map_answer<wide>::read(map_answer<wide>(map_suite::wide(7))) == map_suite::wide(7));
  CHECK(!map_answer<wide>::read(map_answer<wide>(std::nullopt)));
  CHECK(!map_answer<int>::read(map_answer<int>(std::nullopt)));
}

TEST_CASE("atomic_broadcast: a rank delivers the messages of each sequencer in the order of their numbers") {
  // The messages of two senders arrive in the opposite order of their numbers, and another sequencer's do not
  // matter.
  seeded_adversary choices(0);
  adversarial_machine machine(1, {}, choices);
  machine.run([&](rank_t rank) {
    channel_type<> channel(machine, rank);
    std::vector<std::pair<std::size_t, word>> order;
    std::vector<rank_t> const ranks{0, 1};
    pgas::detail::atomic_broadcast<channel_type<>> broadcast(
        channel, ranks, ranks,
        [&](rank_t, std::size_t sequencer, word number, std::span<word const> payload) {
          order.emplace_back(sequencer, number * 100 + payload[0]);
        });
    auto const arrives = [&](std::size_t sequencer, word number) {
      std::array<word, 3> const message{
          static_cast<word>(pgas::detail::map_kind::numbered) | static_cast<word>(sequencer) << 8U, number,
          number};
      CHECK(broadcast.on_message(1, pgas::detail::map_reader(message)));
    };
    arrives(0, 3);
    arrives(1, 1);
    arrives(0, 2);
    CHECK(broadcast.held_back() == 2);
    CHECK(broadcast.delivered(0) == 0);
    arrives(0, 1);
    CHECK(broadcast.held_back() == 0);
    CHECK(broadcast.delivered(0) == 3);
    CHECK(broadcast.delivered(1) == 1);
    CHECK(order == std::vector<std::pair<std::size_t, word>>{{1, 101}, {0, 101}, {0, 202}, {0, 303}});
  });
}
