// SPDX-License-Identifier: BSL-1.0
// The emulated machine with hardware queues: the times of its table, interrupts, back-pressure, and every
// order of arrival; and the conformance suites again, on it.
#include <pgas/backends/tile.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#define PGAS_TEST_ONE_BACKEND pgas::backends::tile
#include "support/launches.hpp"

template <>
struct pgas_test::bootstrap_of<pgas::backends::tile> {
  using type = pgas::detail::tile_machine::rank_bootstrap;
};

#include "support/ranks.hpp"

/// Every other run is in virtual time, and every other one without a clock.
template <>
struct pgas_test::disturbed<pgas::backends::tile> {
  explicit disturbed(std::uint64_t seed)
      : with(seed % 2 == 0 ? chosen() : pgas::tile_machine::options(chosen()).disturb(seed / 2)) {}
  static pgas::tile_machine::options chosen() { return pgas::tile_machine::with_options::chosen(); }
  pgas::tile_machine::with_options with;
};

#include "conformance/bootstrap.hpp"
#include "conformance/channel.hpp"
#include "conformance/channel_ends.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/random_programs.hpp"
#include "conformance/segment.hpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);

namespace pgas_test {
namespace {

using pgas::word;
using pgas::tile_machine::costs;
using pgas::tile_machine::cycles;
using pgas::tile_machine::decisions;
using pgas::tile_machine::delivery;
using pgas::tile_machine::scheduling;
using pgas::tile_machine::switch_point;
using tile_channel = pgas::detail::tile_channel;
using tile_options = pgas::tile_machine::options;
using tile_machine_type = pgas::detail::tile_machine::machine;

/// One core of a machine without the library: its channel and its clock.
struct tile_core {
  tile_machine_type& of;
  tile_channel& channel;

  [[nodiscard]] rank_t rank() const { return channel.rank(); }
  [[nodiscard]] cycles now() const { return of.now(rank()); }
  /// Computes until a time.
  void until(cycles when) const { channel.charge(when - now()); }
  void send(rank_t to, std::size_t queue, std::size_t words, word first = 0) const {
    std::vector<word> const text(words, first);
    channel.send(to, queue, text);
  }
  word receive(std::size_t queue) const {
    std::array<word, tile_channel::most_words> text{};
    channel.receive(queue, text);
    return text[0];
  }
  /// The time that act() takes.
  template <class Act>
  cycles time_of(Act&& act) const {
    cycles const begin = now();
    act();
    return now() - begin;
  }
};

/// Runs body(core) on a fiber for each core, from time 0 on. Throws the failure of a core.
template <class Body>
void on_cores(rank_t cores, tile_options const& how, Body const& body) {
  auto const j = pgas::detail::job::create(cores, false);
  auto const m = std::make_shared<tile_machine_type>(j, how);
  std::vector<rank_t> members;
  for (rank_t r = 0; r < cores; ++r) members.push_back(r);
  auto const home = std::make_shared<pgas::detail::tile_machine::home_queues>(std::move(members));
  m->turns().run([&](rank_t rank) {
    pgas::detail::run_rank(j.as(rank), [&] {
      tile_channel c(m, home, {rank, cores}, "channel 0");
      body(tile_core{*m, c});
    });
    j.as(rank).mark_finished(rank);
  });
  pgas::detail::throw_failure(j);
}
tile_options timed_by(costs const& c) {
  tile_options how;
  how.clock = &c;
  return how;
}

/// Table 3.2 of the thesis, as it is printed.
struct table {
  cycles interrupt;
  bool has_multicast;

  static table of(costs const& c) { return {c.name == "tile_gx" ? 138U : 4U, c.name == "ideal"}; }
  static cycles send(cycles m) { return 8 + m; }
  static cycles receive(cycles m) { return 2 * m; }
  [[nodiscard]] cycles handle(cycles m) const { return interrupt + receive(m); }
  [[nodiscard]] cycles multicast(cycles m, cycles list) const { return (has_multicast ? 1 : list) * send(m); }
  static constexpr cycles wire = 16;
};

TEST_CASE("tile: a round trip takes the time of the thesis' table, received or handled") {
  for (costs const* c : pgas::tile_machine::all_costs) {
    table const t = table::of(*c);
    for (std::size_t const m : {1U, 2U, 3U, 8U, 29U, 118U}) {
      CAPTURE(c->name);
      CAPTURE(m);
      cycles received = 0, handled = 0;
      CHECK_NOTHROW(on_cores(2, timed_by(*c), [&](tile_core const& me) {
        if (me.rank() == 0) {
          received = me.time_of([&] {
            me.send(1, 0, m);
            me.receive(1);
          });
          me.until(5000);
          handled = me.time_of([&] {
            me.send(1, 2, m);
            me.receive(1);
          });
          return;
        }
        me.receive(0);
        me.send(0, 1, m);
        me.channel.handle(2, [&](rank_t from, std::span<word const>) { me.send(from, 1, m); });
        me.until(20'000);
      }));
      CHECK(received == 2 * (t.send(m) + t.receive(m) + t.wire));
      CHECK(handled == 2 * (t.send(m) + t.wire) + t.handle(m) + t.receive(m));
    }
  }
}

TEST_CASE(
    "tile: a multicast costs its sender a send for each rank, or one, and its round trip the table's time") {
  constexpr rank_t cores = 9;
  for (costs const* c : pgas::tile_machine::all_costs) {
    table const t = table::of(*c);
    for (std::size_t const m : {1U, 3U, 8U, 29U}) {
      for (rank_t const list : {1, 5, 8}) {
        CAPTURE(c->name);
        CAPTURE(m);
        CAPTURE(list);
        cycles sent = 0, first = 0, last = 0;
        CHECK_NOTHROW(on_cores(cores, timed_by(*c), [&](tile_core const& me) {
          if (me.rank() != 0) {
            me.channel.handle(2, [&](rank_t from, std::span<word const>) { me.send(from, 1, m); });
            me.until(20'000);
            return;
          }
          me.until(100);
          std::vector<rank_t> to;
          for (rank_t r = 1; r <= list; ++r) to.push_back(r);
          std::vector<word> const text(m);
          cycles const begin = me.now();
          me.channel.multicast(to, 2, text);
          sent = me.now() - begin;
          for (rank_t r = 1; r <= list; ++r) {
            me.receive(1);
            last = me.now() - begin;
            if (r == 1) first = last;
          }
        }));
        auto const many = static_cast<cycles>(list);
        cycles const round_trip = t.multicast(m, many) + t.handle(m) + t.send(m) + t.receive(m) + 2 * t.wire;
        CHECK(sent == t.multicast(m, many));
        // The table's time ends when the last answer has arrived and could be received at once. The core
        // receives one answer after the other, after its sends.
        CHECK(last >= round_trip);
        cycles expected = sent;
        for (cycles i = 1; i <= many; ++i) {
          cycles const arrives = t.multicast(m, i) + t.handle(m) + t.send(m) + 2 * t.wire;
          expected = std::max(expected, arrives) + t.receive(m);
          if (i == 1 && sent <= arrives) CHECK(first == arrives + t.receive(m));
        }
        CHECK(last == expected);
        if (c == &pgas::tile_machine::tile_gx && m <= 8) CHECK(last == round_trip);
      }
    }
  }
}

TEST_CASE("tile: an interrupt strikes amid a computation, and its time comes on top") {
  cycles struck = 0, computed = 0;
  on_cores(2, timed_by(pgas::tile_machine::tile_gx), [&](tile_core const& me) {
    if (me.rank() == 0) {
      me.until(1000);
      me.send(1, 0, 4);
      return;
    }
    me.channel.handle(0, [&](rank_t, std::span<word const>) { struck = me.now(); });
    computed = me.time_of([&] { me.channel.charge(3000); });
  });
  CHECK(struck == 1000 + (8 + 4) + 16 + (138 + 2 * 4));
  CHECK(computed == 3000 + 138 + 2 * 4);
}

TEST_CASE("tile: a handler that runs while its core waits costs the wait nothing, unless the message comes") {
  for (cycles const at : {200U, 950U}) {
    cycles done = 0;
    on_cores(3, timed_by(pgas::tile_machine::tile_gx), [&](tile_core const& me) {
      if (me.rank() == 0) {
        me.channel.handle(0, [](rank_t, std::span<word const>) {});
        me.receive(1);
        done = me.now();
      } else if (me.rank() == 1) {
        me.until(at - 16 - 9);
        me.send(0, 0, 1);
      } else {
        me.until(1000 - 16 - 9);
        me.send(0, 1, 1);
      }
    });
    CHECK(done == (at == 200 ? 1000 : 950 + 138 + 2) + 2);
  }
}

TEST_CASE("tile: interrupts stay pending while a core holds them, and while it handles one") {
  std::vector<cycles> struck;
  on_cores(2, timed_by(pgas::tile_machine::tile_gx), [&](tile_core const& me) {
    if (me.rank() == 0) {
      for (int i = 0; i < 3; ++i) me.send(1, 0, 1);  // arrive at 25, 34 and 43
      return;
    }
    me.channel.handle(0, [&](rank_t, std::span<word const>) {
      me.channel.charge(10);
      struck.push_back(me.now());
    });
    {
      auto const held = me.channel.hold();
      me.until(500);
      CHECK(struck.empty());
    }
    me.channel.charge(1);
  });
  CHECK(struck == std::vector<cycles>{650, 800, 950});
}

TEST_CASE("tile: by polls, a message waits for a poll or a wait, and costs no interrupt") {
  tile_options how = timed_by(pgas::tile_machine::tile_gx);
  how.by = delivery::polls;
  std::vector<cycles> handled;
  on_cores(2, how, [&](tile_core const& me) {
    if (me.rank() == 0) {
      me.send(1, 0, 5);
      me.until(1000);
      me.send(1, 0, 5);
      me.until(2000);
      me.send(1, 1, 1);
      return;
    }
    me.channel.handle(0, [&](rank_t, std::span<word const>) { handled.push_back(me.now()); });
    me.until(700);
    CHECK(handled.empty());
    CHECK(me.channel.poll() == 1);
    CHECK(me.channel.poll() == 0);
    me.receive(1);
  });
  CHECK(handled == std::vector<cycles>{700 + 2 * 5, 1000 + 13 + 16 + 2 * 5});
}

TEST_CASE("tile: a full queue blocks its senders, and room lets them in as they came") {
  cycles free_sends = 0, unblocked = 0;
  std::vector<word> order;
  on_cores(4, timed_by(pgas::tile_machine::tile_gx), [&](tile_core const& me) {
    switch (me.rank()) {
      case 0:
        me.until(5000);
        for (int i = 0; i < 15; ++i) order.push_back(me.receive(3));
        break;
      case 1:
        free_sends = me.time_of([&] {
          for (word i = 0; i < 11; ++i) me.send(0, 3, 10, i);
        });
        me.until(2000);
        me.send(0, 3, 10, 11);  // 8 words are free
        unblocked = me.now();
        break;
      case 2:
        me.until(1500);
        me.send(0, 3, 9, 102);
        break;
      default:
        me.until(2500);
        me.send(0, 3, 1, 103);  // fits, but must not overtake
        me.send(0, 3, 1, 104);
    }
  });
  CHECK(free_sends == 11 * 18);
  CHECK(order == std::vector<word>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 102, 11, 103, 104});
  CHECK(unblocked == 5000 + 2 * 20);  // the first message's words serve the send that came first
  auto const counts = [] {
    std::uint64_t blocked = 0;
    on_cores(2, {}, [&](tile_core const& me) {
      if (me.rank() == 0) {
        for (int i = 0; i < 5; ++i) me.send(1, 0, 118);
        blocked = me.of.count(0).blocked;
      } else {
        for (int i = 0; i < 5; ++i) me.receive(0);
      }
    });
    return blocked;
  };
  CHECK(counts() > 0);
}

TEST_CASE("tile: ranks that wait for each other's full queues are named") {
  auto const stuck = [](tile_options const& how) {
    std::string what = "no error";
    try {
      on_cores(2, how, [](tile_core const& me) {
        for (;;) me.send(1 - me.rank(), 0, 50);
      });
    } catch (pgas::error const& e) {
      CHECK(e.code() == errc::deadlock);
      what = e.description();
    }
    return what;
  };
  std::string const expected =
      "rank 0 waits in send (channel 0) for rank 1; rank 1 waits in send (channel 0) for rank 0; none of "
      "them "
      "can go on";
  CHECK(stuck({}) == expected);
  CHECK(stuck(tile_options{}.disturb(5)) == expected);
}

/// The order in which core 0 gets the messages of the other cores.
std::vector<word> arrivals(rank_t cores, int messages, tile_options const& how) {
  std::vector<word> order;
  on_cores(cores, how, [&](tile_core const& me) {
    if (me.rank() == 0) {
      for (int i = 0; i < messages * (cores - 1); ++i) order.push_back(me.receive(0));
    } else {
      for (int i = 0; i < messages; ++i) me.send(0, 0, 1, static_cast<word>(10 * me.rank() + i));
    }
  });
  return order;
}

TEST_CASE("tile: the same seed gives the same run, other seeds give others, and a replay repeats a run") {
  std::set<std::vector<word>> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto how = tile_options{}.disturb(seed);
    std::vector<switch_point> switches;
    how.record = &switches;
    auto const first = arrivals(4, 5, how);
    how.record = nullptr;
    CHECK(arrivals(4, 5, how) == first);
    how.schedule = scheduling::replay;
    how.switches = &switches;
    CHECK(arrivals(4, 5, how) == first);
    seen.insert(first);
  }
  CHECK(seen.size() > 30);
  CHECK(arrivals(4, 5, {}) == arrivals(4, 5, {}));
}

/// Runs run(options) with each choice of a search; returns the number of runs.
template <class Run>
std::size_t search(std::size_t most_switches, Run const& run) {
  decisions d;
  d.most_switches = most_switches;
  tile_options how;
  how.clock = nullptr;
  how.schedule = scheduling::script;
  how.script = &d;
  std::size_t runs = 0;
  do {
    run(how);
    ++runs;
  } while (d.next());
  return runs;
}

TEST_CASE("tile: a search over schedules finds every order of arrival that FIFO allows, and no other") {
  struct program {
    rank_t senders;
    int messages;
    std::size_t orders;  // (senders * messages)! / messages!^senders
  };
  for (program const p : {program{2, 2, 6}, program{2, 3, 20}, program{3, 1, 6}}) {
    std::set<std::vector<word>> seen;
    std::size_t const runs =
        search(0, [&](tile_options const& how) { seen.insert(arrivals(p.senders + 1, p.messages, how)); });
    CHECK(seen.size() == p.orders);
    std::cout << "covered: " << seen.size() << " orders of " << p.messages << " messages of each of "
              << p.senders << " senders, in " << runs << " runs\n";
    for (auto const& order : seen) {
      for (rank_t sender = 1; sender <= p.senders; ++sender) {
        word next = static_cast<word>(10 * sender);
        for (word const w : order) {
          if (w / 10 == static_cast<word>(sender)) CHECK(w == next++);
        }
      }
    }
  }
}

TEST_CASE("tile: random schedules find every order of arrival that FIFO allows") {
  constexpr std::size_t orders = 90;  // 6! / 2!^3
  std::set<std::vector<word>> seen;
  std::uint64_t seed = 0;
  while (seen.size() < orders && seed < 20'000) seen.insert(arrivals(4, 2, tile_options{}.disturb(++seed)));
  CHECK(seen.size() == orders);
  std::cout << "covered: " << seen.size() << " orders of 2 messages of each of 3 senders, in " << seed
            << " seeds\n";
}

TEST_CASE("tile: a message may arrive after the answer to a later message of its sender") {
  std::set<std::vector<word>> seen;
  std::size_t const runs = search(~std::size_t{0}, [&](tile_options const& how) {
    std::vector<word> order;
    on_cores(3, how, [&](tile_core const& me) {
      if (me.rank() == 0) {
        me.send(2, 0, 1, 1);
        me.send(1, 0, 1, 2);
      } else if (me.rank() == 1) {
        me.receive(0);
        me.send(2, 0, 1, 3);
      } else {
        for (int i = 0; i < 2; ++i) order.push_back(me.receive(0));
      }
    });
    seen.insert(order);
  });
  CHECK(seen == std::set<std::vector<word>>{{1, 3}, {3, 1}});
  std::cout << "covered: " << runs << " runs of three messages, of which one follows another\n";
}

TEST_CASE("tile: an interrupt may strike before, between and after any instructions") {
  std::set<int> struck;
  std::size_t const runs = search(~std::size_t{0}, [&](tile_options const& how) {
    int instructions = 0, at = -1;
    on_cores(2, how, [&](tile_core const& me) {
      if (me.rank() == 1) return me.send(0, 0, 1);
      me.channel.handle(0, [&](rank_t, std::span<word const>) { at = instructions; });
      for (; instructions < 4; ++instructions) me.channel.charge(1);
      pgas::detail::team_ranks const all(0, 2);
      me.of.wait(
          0, {}, [&] { return at >= 0; }, {.operation = "the handler"}, "test", all);
    });
    struck.insert(at);
  });
  CHECK(struck == std::set<int>{0, 1, 2, 3, 4});
  std::cout << "covered: " << runs << " runs of a message to a core of four instructions\n";
}

TEST_CASE("tile: a machine has as many cores as its name says, and PGAS_TILE chooses one") {
  auto const refused = [](tile_options const& how, rank_t ranks) {
    pgas::tile_machine::with_options const with(how);
    try {
      pgas::run<pgas::backends::tile>(ranks, [](auto&) {});
    } catch (pgas::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused(timed_by(pgas::tile_machine::tile_gx), 36).empty());
  CHECK(refused(timed_by(pgas::tile_machine::tile_gx), 37).find("tile_gx has 36 cores") != std::string::npos);
  CHECK(refused(timed_by(pgas::tile_machine::ideal), 63).empty());
  CHECK(refused(tile_options{}.disturb(1), 63).empty());
  CHECK(refused(timed_by(pgas::tile_machine::ideal), 64).find("63 cores") != std::string::npos);

  auto const chosen_by = [](char const* name) {
    char const* const before = std::getenv("PGAS_SEED");
    std::string const seed = before == nullptr ? "" : before;
    ::unsetenv("PGAS_SEED");
    ::setenv("PGAS_TILE", name, 1);
    struct restored {
      std::string const& seed;
      ~restored() {
        ::unsetenv("PGAS_TILE");
        if (!seed.empty()) ::setenv("PGAS_SEED", seed.c_str(), 1);
      }
    } const ends{seed};
    return tile_options::from_environment().clock;
  };
  CHECK(chosen_by("ideal") == &pgas::tile_machine::ideal);
  CHECK(chosen_by("intermediate") == &pgas::tile_machine::intermediate);
  CHECK_THROWS_WITH_AS(chosen_by("tilera"), doctest::Contains("PGAS_TILE"), pgas::error);
}

TEST_CASE("tile: a team's clock is its core's, and counters tell what cores did") {
  pgas::tile_machine::with_options const with{tile_options{}};
  pgas::run<pgas::backends::tile>(2, [](auto& team) {
    auto c = pgas::make_channel(team);
    std::array<word, 1> text{};
    auto const before = team.now();
    auto const cycles_before = pgas::tile_machine::cycles_of(team);
    team.charge(1200);
    require_equal(pgas::tile_machine::cycles_of(team) - cycles_before, cycles{1200}, "cycles");
    auto const passed = std::chrono::duration<double, std::micro>(team.now() - before).count();
    require(passed > 0.99 && passed < 1.01, "1200 cycles are a microsecond");
    if (team.rank() == 0) {
      c.send(1, 0, text);
    } else {
      c.receive(0, text);
    }
    team.barrier();
  });
  auto const& counts = pgas::backends::tile::last_counters();
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].sent == 1);
  CHECK(counts[1].received == 1);
  CHECK(counts[1].charged == 1200);
}

TEST_CASE("tile: random schedules, on each machine, lose no message") {
  channel_suite::flood_for_a_while<pgas::backends::tile>([](std::uint64_t seed) {
    auto how = tile_options{}.disturb(seed);
    if (seed % 5 == 0) how.by = delivery::polls;
    if (seed % 7 == 0) how.clock = pgas::tile_machine::all_costs[seed % 3];
    return std::make_unique<pgas::tile_machine::with_options>(how);
  });
}

}  // namespace
}  // namespace pgas_test
