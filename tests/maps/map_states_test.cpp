// SPDX-License-Identifier: BSL-1.0
// The promises of the maps on channels in all states that they can reach: all programs of a size, all orders
// of their messages.
// test: optimized, unit maps
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadcast_mutants.hpp"
#include "maps_mutants.hpp"
#include "support/state_search.hpp"

namespace pgas_test::map_states {

namespace maps = pgas::maps;

struct by_remainder : pgas::map_traits<int> {
  using hash = std::hash<int>;
};
using channel = adversarial_channel<false>;
template <template <class, class, class, class> class Map, class Traits = by_remainder>
using small = Map<int, int, channel, Traits>;

using simple = small<maps::part_simple>;
using caching = small<maps::part_caching>;
using remote = small<maps::rep_remote>;
using local = small<maps::rep_local>;
using two_phase = small<maps::rep_2pc>;
using sequential = small<maps::rep_sc>;

// On a channel that interrupts.
using interrupting = adversarial_channel<true>;
template <template <class, class, class, class> class Map>
using interrupted = Map<int, int, interrupting, by_remainder>;
using interrupted_simple = interrupted<maps::part_simple>;
using interrupted_caching = interrupted<maps::part_caching>;
using interrupted_remote = interrupted<maps::rep_remote>;
using interrupted_local = interrupted<maps::rep_local>;

/// A channel whose queues have room for an answer and for the invalidations of one update.
struct narrow_channel : channel {
  using channel::channel;
  [[nodiscard]] static constexpr std::size_t queue_words() noexcept { return 4; }
};
using caching_in_turn = maps::part_caching<int, int, narrow_channel, by_remainder>;

// Wrong variants.
namespace mutants = maps_mutants;
using unacknowledged = small<mutants::simple_no_acknowledgment::part_simple>;
using unblocked = small<mutants::caching_serves_pending_keys::part_caching>;
using not_waiting = small<mutants::remote_no_wait::rep_remote>;
using as_they_come = small<broadcast_mutants::no_hold_back::rep_remote>;
using as_printed = small<mutants::local_as_printed::rep_local>;
using no_flag = small<mutants::local_no_flag::rep_local>;
using unflagged = small<mutants::two_phase_no_flag::rep_2pc>;
using too_early = small<mutants::sequential_returns_too_early::rep_sc>;

// The parts of these maps.
using right_server = pgas::detail::invalidating_server<int, int, by_remainder>;
using wrong_server = mutants::caching_serves_pending_keys::invalidating_server<int, int, by_remainder>;
using broadcast = pgas::detail::atomic_broadcast<channel>;
using interrupted_broadcast = pgas::detail::atomic_broadcast<interrupting>;
using wrong_broadcast = broadcast_mutants::no_hold_back::atomic_broadcast<channel>;
using pending = pgas::detail::pending_updates<int, int, by_remainder::equal>;
using pending_as_printed = mutants::local_as_printed::pending_updates<int, int, by_remainder::equal>;
using pending_no_flag = mutants::local_no_flag::pending_updates<int, int, by_remainder::equal>;

}  // namespace pgas_test::map_states

namespace pgas_test {

template struct opened<map_states::simple, &map_states::simple::values_>;
template struct opened<map_states::unacknowledged, &map_states::unacknowledged::values_>;
template struct opened<map_states::caching, &map_states::caching::server_, &map_states::caching::copies_>;
template struct opened<map_states::interrupted_simple, &map_states::interrupted_simple::values_>;
template struct opened<map_states::interrupted_caching, &map_states::interrupted_caching::server_,
                       &map_states::interrupted_caching::copies_>;
template struct opened<map_states::interrupted_remote, &map_states::interrupted_remote::values_,
                       &map_states::interrupted_remote::broadcast_>;
template struct opened<map_states::interrupted_local, &map_states::interrupted_local::values_,
                       &map_states::interrupted_local::pending_, &map_states::interrupted_local::broadcast_>;
template struct opened<map_states::interrupted_broadcast, &map_states::interrupted_broadcast::streams_,
                       &map_states::interrupted_broadcast::last_number_>;
template struct opened<map_states::caching_in_turn, &map_states::caching_in_turn::server_,
                       &map_states::caching_in_turn::copies_>;
template struct opened<map_states::unblocked, &map_states::unblocked::server_,
                       &map_states::unblocked::copies_>;
template struct opened<map_states::remote, &map_states::remote::values_, &map_states::remote::broadcast_>;
template struct opened<map_states::not_waiting, &map_states::not_waiting::values_,
                       &map_states::not_waiting::broadcast_>;
template struct opened<map_states::as_they_come, &map_states::as_they_come::values_,
                       &map_states::as_they_come::broadcast_>;
template struct opened<map_states::sequential, &map_states::sequential::values_,
                       &map_states::sequential::broadcast_>;
template struct opened<map_states::too_early, &map_states::too_early::values_,
                       &map_states::too_early::broadcast_>;
template struct opened<map_states::local, &map_states::local::values_, &map_states::local::pending_,
                       &map_states::local::broadcast_>;
template struct opened<map_states::as_printed, &map_states::as_printed::values_,
                       &map_states::as_printed::pending_, &map_states::as_printed::broadcast_>;
template struct opened<map_states::no_flag, &map_states::no_flag::values_, &map_states::no_flag::pending_,
                       &map_states::no_flag::broadcast_>;
template struct opened<map_states::two_phase, &map_states::two_phase::values_,
                       &map_states::two_phase::flags_>;
template struct opened<map_states::unflagged, &map_states::unflagged::values_,
                       &map_states::unflagged::flags_>;
template struct opened<map_states::right_server, &map_states::right_server::entries_,
                       &map_states::right_server::pending_, &map_states::right_server::held_,
                       &map_states::right_server::last_number_>;
template struct opened<map_states::wrong_server, &map_states::wrong_server::entries_,
                       &map_states::wrong_server::pending_, &map_states::wrong_server::last_number_>;
template struct opened<map_states::broadcast, &map_states::broadcast::streams_,
                       &map_states::broadcast::last_number_>;
template struct opened<map_states::wrong_broadcast, &map_states::wrong_broadcast::streams_,
                       &map_states::wrong_broadcast::last_number_>;
template struct opened<map_states::pending, &map_states::pending::all_>;
template struct opened<map_states::pending_as_printed, &map_states::pending_as_printed::all_>;
template struct opened<map_states::pending_no_flag, &map_states::pending_no_flag::all_>;

}  // namespace pgas_test

namespace pgas_test::map_states {

using pgas::map_on_options;
using pgas::placement;

double seconds_of_a_case() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

constexpr map_on_options one_server{.servers = {.number = 1, .where = placement::dedicated}};
constexpr map_on_options without_servers{
    .servers = {.number = pgas::map_servers::chosen, .where = placement::colocated}};
template <class Map>
constexpr map_on_options options_of = std::string_view(Map::name) == "rep_2pc" ? without_servers : one_server;

std::string power_of_six(std::size_t exponent) {
  std::uint64_t all = 1;
  for (std::size_t i = 0; i < exponent; ++i) all *= 6;
  return std::to_string(all);
}

/// All programs of three clients with 1 to 4 operations each, as far as the time allows.
template <class Map>
void check_all_programs(std::chrono::duration<double> share) {
  for (std::size_t length = 1; length <= 4; ++length) {
    state_search<Map> search({.clients = 3, .length = length}, options_of<Map>);
    auto const begin = std::chrono::steady_clock::now();
    auto const found = search.run(share);
    share -= std::chrono::steady_clock::now() - begin;
    REQUIRE_MESSAGE(found.wrong.empty(), std::string(Map::name), ": ", found.wrong);
    std::cout << "covered: " << (found.is_whole ? "all " : "not all: ") << found.states << " states of "
              << Map::name << " in all orders of all " << power_of_six(3 * length)
              << " programs of 3 clients with " << length << " operations each, in " << found.runs
              << " runs\n";
    if (!found.is_whole) return;
  }
}

/// Random programs of a few clients with some operations each, one after the other, each in all its states.
template <class Map>
void check_some_programs(std::size_t clients, std::size_t length, std::chrono::duration<double> share) {
  auto const end = std::chrono::steady_clock::now() + share;
  std::uint64_t programs = 0;
  std::uint64_t states = 0;
  bool is_whole = true;
  for (std::uint64_t seed = 0; is_whole; ++seed) {
    std::mt19937_64 random(seed);
    programs_of some{
        .clients = clients, .length = length, .of = std::vector<std::vector<small_call>>(clients)};
    int value = 0;
    for (auto& mine : some.of)
      for (std::size_t i = 0; i < length; ++i) {
        auto const kind = static_cast<small_call::kind>(random() % 3);
        mine.push_back({kind, static_cast<int>(random() % 2), kind == small_call::update ? ++value : 0});
      }
    state_search<Map> search(some, options_of<Map>);
    auto const found = search.run(end - std::chrono::steady_clock::now());
    REQUIRE_MESSAGE(found.wrong.empty(), std::string(Map::name), ", program ", seed, ": ", found.wrong);
    is_whole = found.is_whole;
    programs += is_whole ? 1 : 0;
    states += found.states;
  }
  std::cout << "covered: all orders of " << programs << " random programs of " << clients << " clients with "
            << length << " operations each on " << Map::name << ", " << states
            << " states with those of the next one\n";
}

/// A wrong variant is wrong in some program of few operations.
template <class Map>
void is_found(std::string const& what) {
  for (std::size_t length = 1; length <= 3; ++length) {
    state_search<Map> search({.clients = 3, .length = length}, options_of<Map>);
    auto const found = search.run(std::chrono::seconds(20));
    if (found.wrong.empty()) continue;
    std::cout << "covered: " << Map::name << ", " << what << ": wrong after " << found.states
              << " states of programs with " << length << " operations\n";
    return;
  }
  FAIL_CHECK(std::string(Map::name), " is right, although ", what);
}

/// A wrong variant is wrong in some order of a program.
template <class Map>
void is_found_in(std::string const& what, programs_of program) {
  state_search<Map> search(std::move(program), options_of<Map>);
  auto const found = search.run(std::chrono::seconds(20));
  CHECK_MESSAGE(!found.wrong.empty(), std::string(Map::name), " is right, although ", what);
  std::cout << "covered: " << Map::name << ", " << what << ": wrong after " << found.states
            << " states of one program\n";
}

/// The programs that a comparison of two searches has covered.
struct compared {
  bool is_right = true;  ///< the map: updates of a wrong one may be under way at the end
  std::uint64_t programs = 0;
  std::uint64_t wrong = 0;      ///< programs in which both found a wrong history
  std::uint64_t histories = 0;  ///< without rules
  std::uint64_t states = 0;     ///< without rules
  std::uint64_t kept = 0;       ///< states with rules
};

/// Whether a history has all that another one forbids: each call comes after as many returns, or more.
bool is_as_strict(std::vector<std::size_t> const& one, std::vector<std::size_t> const& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), std::greater_equal<>());
}

using moment = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;

/// Searches a program with and without the rules that leave out orders. Both must find a wrong history, or
/// none. Then each history without rules must have one with rules of the same results that is as strict.
/// Returns false if the time is over.
template <class Map, bool Interrupts, class Channel>
bool compare(programs_of const& program, map_on_options options, std::string const& name, moment end,
             compared& all) {
  state_search<Map, Interrupts, Channel> some(program, options,
                                              {.ends_at_meeting = all.is_right, .records = true});
  state_search<Map, Interrupts, Channel> every(program, options, {.leaves_out = false, .records = true});
  auto const kept = some.run(end - std::chrono::steady_clock::now());
  auto const whole = every.run(end - std::chrono::steady_clock::now());
  if ((!kept.is_whole && kept.wrong.empty()) || (!whole.is_whole && whole.wrong.empty())) return false;
  std::string const what = std::string(Map::name) + ", " + name;
  REQUIRE_MESSAGE(kept.wrong.empty() == whole.wrong.empty(), what, ": with rules \"", kept.wrong,
                  "\", without \"", whole.wrong, '"');
  ++all.programs;
  all.states += whole.states;
  all.kept += kept.states;
  if (!kept.wrong.empty()) return ++all.wrong, true;
  for (auto const& [results, orders] : every.histories()) {
    auto const found = some.histories().find(results);
    REQUIRE_MESSAGE(found != some.histories().end(), what, ": the rules leave out results");
    for (auto const& order : orders) {
      ++all.histories;
      REQUIRE_MESSAGE(std::any_of(found->second.begin(), found->second.end(),
                                  [&](auto const& other) { return is_as_strict(other, order); }),
                      what, ": the rules leave out a history for which they keep none as strict");
    }
  }
  for (auto const& [results, orders] : some.histories())
    REQUIRE_MESSAGE(every.histories().contains(results), what, ": the rules make results up");
  return true;
}

/// The program with a number: each digit to the base of 3 times the keys is an operation.
programs_of program_of(std::uint64_t number, std::size_t clients, std::size_t length, int keys) {
  programs_of one{.clients = clients, .length = length, .keys = keys, .of = {}};
  int value = 0;
  for (std::size_t client = 0; client < clients; ++client) {
    std::vector<small_call> mine;
    for (std::size_t i = 0; i < length; ++i) {
      auto const kind = static_cast<small_call::kind>(number % 3);
      auto const key = static_cast<int>(number / 3 % static_cast<std::uint64_t>(keys));
      number /= 3 * static_cast<std::uint64_t>(keys);
      mine.push_back({kind, key, kind == small_call::update ? ++value : 0});
    }
    one.of.push_back(std::move(mine));
  }
  return one;
}

/// Compares both searches in all programs of two clients with an operation each on two keys, then in those
/// with two operations each on a key, then in random ones, as far as the time allows.
template <class Map, bool Interrupts = false, class Channel = adversarial_channel<Interrupts>>
void compare_searches(std::string const& how, map_on_options options, std::chrono::duration<double> share) {
  moment const begin = std::chrono::steady_clock::now();
  compared all{.is_right = how != "wrong variant"};
  bool has_time = true;
  auto const with = [&](programs_of const& program, std::string const& name) {
    moment const end = begin + (all.programs < 2 ? std::chrono::seconds(20) : share);  // two at least
    has_time = compare<Map, Interrupts, Channel>(program, options, how + ", " + name, end, all);
  };
  // The steps of 7 meet each number once, and programs of all kinds early.
  for (std::uint64_t i = 1; i <= 36 && has_time; ++i)
    with(program_of(i * 7 % 36, 2, 1, 2), "short program " + std::to_string(i * 7 % 36));
  for (std::uint64_t i = 1; i <= 81 && has_time; ++i)
    with(program_of(i * 7 % 81, 2, 2, 1), "program " + std::to_string(i * 7 % 81));
  std::uint64_t seed = 0;
  while (has_time) {
    with(program_of(std::mt19937_64(seed)(), 2 + seed % 2, 2, 2), "seed " + std::to_string(seed));
    ++seed;
  }
  CHECK_MESSAGE(all.programs > 0, std::string(Map::name), ", ", how, ": nothing is compared");
  std::cout << "covered: " << Map::name << ", " << how << ": the rules keep the verdicts of " << all.programs
            << " programs, " << all.wrong << " of them wrong, and a history as strict as each of "
            << all.histories << "; they need " << all.kept << " states, and without them " << all.states
            << '\n';
}

template <class... Map>
void for_each_map(auto const& use) {
  (use(std::type_identity<Map>{}), ...);
}

TEST_CASE("map states: each map keeps its promise in all programs and orders, as far as the time allows") {
  std::chrono::duration<double> const share(seconds_of_a_case() / 6);
  for_each_map<simple, caching, remote, local, two_phase, sequential>(
      [&]<class Map>(std::type_identity<Map>) { check_all_programs<Map>(share); });
}

TEST_CASE("map states: each map keeps its promise in all orders of random programs") {
  std::chrono::duration<double> const share(seconds_of_a_case() / 15);
  for_each_map<caching, remote, local, two_phase, sequential>([&]<class Map>(std::type_identity<Map>) {
    check_some_programs<Map>(2, 3, share);
    check_some_programs<Map>(3, 2, share);
    check_some_programs<Map>(3, 4, share);
  });
}

constexpr map_on_options two_servers{.servers = {.number = 2, .where = placement::dedicated}};
constexpr map_on_options all_serve{.servers = {.number = 2, .where = placement::colocated}};

TEST_CASE(
    "map states: each map keeps its promise in all programs of two clients with two operations on a key") {
  for_each_map<simple, caching, remote, local, two_phase, sequential>(
      [&]<class Map>(std::type_identity<Map>) {
        state_search<Map> search({.clients = 2, .length = 2, .keys = 1}, options_of<Map>);
        auto const found = search.run(std::chrono::seconds(20));
        CHECK_MESSAGE(found.wrong.empty(), std::string(Map::name), ": ", found.wrong);
        CHECK_MESSAGE(found.is_whole, std::string(Map::name), ": the time was over after ", found.states,
                      " states");
        std::cout << "covered: all " << found.states << " states of " << Map::name
                  << " in all orders of all 81 programs of 2 clients with 2 operations each on a key\n";
      });
}

TEST_CASE("map states: a search that leaves out orders has the verdict and the histories of all orders") {
  std::chrono::duration<double> const share(seconds_of_a_case() / 20);
  for_each_map<simple, caching, remote, local, two_phase, sequential>(
      [&]<class Map>(std::type_identity<Map>) { compare_searches<Map>("as usual", options_of<Map>, share); });
  for_each_map<simple, caching, remote, local>([&]<class Map>(std::type_identity<Map>) {
    compare_searches<Map>("two servers", two_servers, share);
    compare_searches<Map>("all serve", all_serve, share);
  });
  compare_searches<caching_in_turn, false, narrow_channel>("one update at a time", one_server, share);
  for_each_map<interrupted_simple, interrupted_caching, interrupted_remote, interrupted_local>(
      [&]<class Map>(std::type_identity<Map>) {
        compare_searches<Map, true>("interrupts", one_server, share);
        compare_searches<Map, true>("all serve, and interrupts", all_serve, share);
      });
  for_each_map<unacknowledged, unblocked, not_waiting, as_they_come, as_printed, no_flag, unflagged,
               too_early>([&]<class Map>(std::type_identity<Map>) {
    compare_searches<Map>("wrong variant", options_of<Map>, share);
  });
}

TEST_CASE("map states: the search finds wrong variants") {
  is_found<unacknowledged>("an update returns before its server has it");
  is_found<unblocked>("a server answers lookups of a key with a pending update");
  is_found<not_waiting>("a lookup does not wait for the updates before it");
  is_found<as_they_come>("replicas apply updates as they arrive");
  is_found<as_printed>("replicas show updates as their second messages arrive");
  is_found<no_flag>("a lookup does not wait for pending updates");
  small_call const update{small_call::update, 0, 1};
  small_call const lookup{small_call::lookup, 0, 0};
  is_found_in<unflagged>("a lookup does not wait for a pending vote",
                         {.clients = 3, .of = {{update}, {lookup, lookup}, {lookup, lookup}}});
  is_found<too_early>("an update returns before its replica has it");
}

}  // namespace pgas_test::map_states
