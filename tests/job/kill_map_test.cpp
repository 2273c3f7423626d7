// SPDX-License-Identifier: BSL-1.0
// A rank dies in a map on a channel or in a container, or throws there: while it serves, changes a key, drops
// a copy, gives numbers, or holds the lock of a bucket. All other ranks end soon with an error that names it.
// test: sleeps, unit kill
#include <unistd.h>

#include <pgas/backends/process_map.hpp>
#include <pgas/backends/tile.hpp>
#include <pgas/containers/chunked_map.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/containers/distributed_vector.hpp>
#include <pgas/containers/work_stealing_queue.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/leftovers.hpp"
#include "support/ranks.hpp"

namespace pgas_test::map_deaths {

using pgas::map_on_options;
using pgas::placement;

constexpr rank_t ranks = 3;

[[noreturn]] void be_killed() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// How the victim ends, and after how many steps of its own.
enum class death { killed, throws };
struct fate {
  death how = death::killed;
  long steps_left = -1;  ///< -1: the rank lives on
};
/// A rank of this thread, and where its stack begins. Ranks of emulated machines share a thread, but no
/// stack.
struct life {
  std::uintptr_t stack = 0;
  fate its;
};
thread_local std::array<life, ranks> lives;

/// The fate of the rank that runs: stacks grow down, so its stack begins next above this frame.
fate& mine() {
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  life* found = &lives[0];
  for (life& one : lives)
    if (one.stack >= here && (found->stack < here || one.stack < found->stack)) found = &one;
  return found->its;
}

/// A step of the victim: a hash, a comparison, a combination of values, or an operation.
void step() {
  fate& of_this_rank = mine();
  if (of_this_rank.steps_left < 0 || of_this_rank.steps_left-- != 0) return;
  if (of_this_rank.how == death::throws) throw std::runtime_error("the tea is cold");
  be_killed();
}

struct deadly_hash {
  std::size_t operator()(int key) const {
    step();
    return static_cast<std::size_t>(key);
  }
};
struct deadly_sum {
  std::uint64_t operator()(std::uint64_t x, std::uint64_t y) const {
    step();
    return x + y;
  }
};

/// Makes this rank the victim, if it is. A killed one dies after a while at the latest, wherever it is.
void meet_fate(rank_t self, rank_t victim, death how, long steps, void const* stack) {
  lives[static_cast<std::size_t>(self)] = {reinterpret_cast<std::uintptr_t>(stack),
                                           {how, self == victim ? steps : -1}};
  if (how != death::killed) return;
  for (int const signal : {SIGTERM, SIGSEGV, SIGABRT, SIGINT}) ::signal(signal, SIG_DFL);
  if (self == victim)
    std::thread([] {
      ::usleep(30'000);
      be_killed();
    }).detach();
}

struct tally {
  int runs = 0;
  double longest = 0;

  template <class Model>
  void print(std::string const& what, leftovers const& before) const {
    before.check("after the runs");
    CHECK_MESSAGE(longest < 3.5, "the longest run took ", longest, " s");
    std::cout << "covered: " << runs << " ends of a rank in a " << what << " on " << Model::name()
              << ", the longest took " << longest << " s\n";
  }
};

/// Runs body(team) with a victim; the error names it.
template <class Model, class Body>
void is_named(tally& all, std::string const& what, rank_t victim, death how, long steps, Body const& body) {
  stopwatch const watch;
  lives = {};
  auto const e = error_of<Model>(ranks, [&](auto& team) {
    meet_fate(team.rank(), victim, how, steps, __builtin_frame_address(0));
    body(team);
  });
  ++all.runs;
  all.longest = std::max(all.longest, watch.seconds());
  std::string const where = std::string(Model::name()) + ", " + what + ", rank " + std::to_string(victim) +
                            " at step " + std::to_string(steps);
  REQUIRE_MESSAGE(e.has_value(), where);
  std::string const text = e->what();
  CHECK_MESSAGE(text.find("rank " + std::to_string(victim)) != std::string::npos, where, ": ", text);
  std::string const why = how == death::killed ? "signal 9" : "the tea is cold";
  CHECK_MESSAGE(text.find(why) != std::string::npos, where, ": ", text);
}

/// All clients look up and change the same keys, for ever. From time to time all meet: a rank that never
/// waits does not learn of a death.
template <auto Policy>
struct endless_calls {
  char const* name;
  map_on_options options;
  void operator()(auto& team) const {
    auto map = pgas::make_map<int, int, Policy, deadly_hash>(team, options);
    for (int i = 0;; ++i) {
      if (map.is_client()) {
        map.update(i % 3, i);
        static_cast<void>(map.lookup((i + 1) % 3));
        if (i % 4 == 3) map.erase(i % 3);
      }
      // A client or a server ends between its operations, and while others wait for it.
      if (mine().how == death::throws) step();
      if (i % 8 == 7) map.serve();
    }
  }
};

/// Calls use(calls) for each map, with dedicated servers and with colocated ones.
template <class Use>
void with_maps(Use const& use) {
  namespace maps = pgas::maps;
  map_on_options const dedicated{.servers = {.number = 1, .where = placement::dedicated}};
  map_on_options const colocated{.servers = {.number = 1, .where = placement::colocated}};
  use(endless_calls<pgas::part_simple>{"part_simple", dedicated});
  use(endless_calls<pgas::part_simple>{"part_simple, colocated", colocated});
  use(endless_calls<pgas::part_caching>{"part_caching", dedicated});
  use(endless_calls<pgas::part_caching>{"part_caching, colocated", colocated});
  use(endless_calls<pgas::rep_remote>{"rep_remote", dedicated});
  use(endless_calls<pgas::rep_remote>{"rep_remote, colocated", colocated});
  use(endless_calls<pgas::rep_local>{"rep_local", dedicated});
  use(endless_calls<pgas::rep_local>{"rep_local, colocated", colocated});
  use(endless_calls<pgas::rep_2pc>{"rep_2pc", {}});
  use(endless_calls<pgas::rep_sc>{"rep_sc", dedicated});
  use(endless_calls<pgas::rep_sc>{"rep_sc, colocated", colocated});
}

/// Each rank ends in each map, each time at another step.
template <class Model>
void die_in_maps(death how) {
  tally all;
  leftovers const before;
  constexpr std::array<long, 5> steps{0, 21, 4, 1'000'000, 9};  // the large one: killed amid whatever it does
  with_maps([&](auto const& calls) {
    for (rank_t victim = 0; victim < ranks; ++victim) {
      long const at = steps[static_cast<std::size_t>(all.runs) % steps.size()];
      is_named<Model>(all, calls.name, victim, how, how == death::throws ? at % 10 : at, calls);
    }
  });
  all.print<Model>("map", before);
}

/// Meets the other ranks after some rounds: a rank that never waits does not learn of a death.
void meet_after(auto& team, int round) {
  if (round % 16 == 15) team.barrier();
}

/// The work of the ranks with each container, without an end.
template <class Use>
void with_containers(Use const& use) {
  using number = std::uint64_t;
  use("distributed_map: the victim holds the lock of a bucket", [](auto& team) {
    auto map = pgas::make_map<int, number>(team, {.capacity = 8});
    for (int i = 0;; ++i) {
      map.insert_or_accumulate(7, 1, deadly_sum{});
      static_cast<void>(map.lookup(7));
      meet_after(team, i);
    }
  });
  use("distributed_map: the victim hashes a key", [](auto& team) {
    auto map = pgas::make_map<int, number, pgas::map_policy{}, deadly_hash>(team, {.capacity = 8});
    for (int i = 0;; ++i) {
      map.update(i % 4, 1);
      map.erase((i + 1) % 4);
      meet_after(team, i);
    }
  });
  use("distributed_map: the victim changes a key of a part that grows", [](auto& team) {
    auto map =
        pgas::make_map<int, number, pgas::map_policy{}, deadly_hash>(team, {.capacity = 2, .most = 4096});
    for (int i = 0;; ++i) {
      map.update(i % 1000 * ranks + team.rank(), 1);
      meet_after(team, i);
    }
  });
  use("chunked_map: the victim replaces texts of several chunks", [](auto& team) {
    auto map = pgas::make_chunked_map<int, char, pgas::chunked_policy{}, deadly_hash>(team);
    for (int i = 0;; ++i) {
      map.update(i % 2, std::string(500, 'x'));
      static_cast<void>(map.lookup((i + 1) % 2));
      meet_after(team, i);
    }
  });
  use("distributed_queue: all push and pop", [](auto& team) {
    auto queue = pgas::make_queue<int>(team, {.capacity = 4});
    for (int i = 0;; ++i) {
      step();
      queue.push(i);
      static_cast<void>(queue.pop());
      meet_after(team, i);
    }
  });
  use("distributed_queue: an inbox", [](auto& team) {
    auto queue = pgas::make_inbox<int>(team, 4);
    for (int i = 0;; ++i) {
      step();
      if (team.rank() != 0) queue.push(i);
      if (team.rank() == 0)
        for (rank_t other = 1; other < ranks; ++other) static_cast<void>(queue.pop());
      meet_after(team, i);
    }
  });
  use("distributed_vector: all push back, and all grow together", [](auto& team) {
    auto vector = pgas::make_vector<int>(team);
    for (int i = 0;; ++i) {
      step();
      static_cast<void>(vector.try_push_back(i));
      if (i % 16 == 15) vector.reserve(static_cast<std::size_t>(i));
    }
  });
  use("work_stealing_queue: each task makes two, and the others wait for the victim's", [](auto& team) {
    for (;;) {
      auto tasks = pgas::make_work_stealing_queue<int>(team);
      if (team.rank() == 0) tasks.push(0);
      while (auto const task = tasks.next()) {
        step();
        for (int child = 0; *task < 8 && child < 2; ++child) tasks.push(*task + 1);
      }
    }
  });
}

template <class Model>
void die_in_containers(death how) {
  tally all;
  leftovers const before;
  with_containers([&](char const* name, auto const& body) {
    for (rank_t victim = 0; victim < ranks; ++victim) {
      is_named<Model>(all, name, victim, how, all.runs % 7, body);
      if (how == death::killed) is_named<Model>(all, name, victim, how, 1'000'000, body);
    }
  });
  all.print<Model>("container", before);
}

TEST_CASE("maps: a rank that is killed in an operation, or while it serves, is named by the others, soon") {
  if (chosen(process_model::backend::name)) die_in_maps<process_model>(death::killed);
}

TEST_CASE("maps: a rank that throws in an operation or in a handler is named by the others, soon") {
  if (chosen(thread_model::backend::name)) die_in_maps<thread_model>(death::throws);
}

TEST_CASE("maps: a rank of an emulated machine that throws in an operation or in a handler is named, soon") {
  if (chosen("tile")) die_in_maps<model<pgas::backends::tile>>(death::throws);
  if (chosen("scc")) die_in_maps<scc_model>(death::throws);
}

TEST_CASE("containers: a rank that is killed with a lock, a ticket or a task is named by the others, soon") {
  if (chosen(process_model::backend::name)) die_in_containers<process_model>(death::killed);
}

}  // namespace pgas_test::map_deaths
