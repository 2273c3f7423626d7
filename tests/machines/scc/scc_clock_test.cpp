// SPDX-License-Identifier: BSL-1.0
// The emulated chip's time: an access takes the time that its source states, accesses delay each other as on
// the chip, and time changes nothing else.
// test: only addresses, unit chip
#include <pgas/machines/scc/heat_map.hpp>
#include <pgas/pgas.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "support/chip.hpp"

namespace {

using namespace emulated;
using namespace std::chrono_literals;
using pgas::detail::scc::asks;
using pgas::detail::scc::link;
using pgas::detail::scc::lookup_table;
using pgas::detail::scc::station;
using pgas::detail::scc::ticks;
using pgas::detail::scc::tile;
using pgas::scc::placement;
using pgas::scc::timing;
using pgas::scc::traffic;
using line = std::array<std::byte, line_bytes>;

// ---- helpers ---------------------------------------------------------------------------------------

constexpr rank_t cores = 48;

options timed(timing const& t) {
  options how;
  how.clock = &t;
  return how;
}
/// The address of a core's message passing buffer, the same on every core.
physical_address buffer_of(rank_t owner) {
  return static_cast<physical_address>((lookup_table::first_buffer + static_cast<std::size_t>(owner)) *
                                       page_bytes);
}
double now(chip& c, rank_t rank) { return c.time()->how().in_core_cycles(c.turns().time().now(rank)); }

/// Core cycles that act(chip, core, i) takes on one core for each i, while all other cores are silent.
/// Measures the second call, since the first may wait for earlier accesses and may fill caches.
template <class Act>
std::vector<double> costs_on(timing const& t, rank_t rank, int many, Act const& act) {
  std::vector<double> costs;
  on_chip(cores, timed(t), [&](chip& c, rank_t self) {
    for (int i = 0; self == rank && i < many; ++i) {
      act(c, c.at(self), i);
      double const begin = now(c, self);
      act(c, c.at(self), i);
      costs.push_back(now(c, self) - begin);
    }
  });
  return costs;
}
template <class Act>
double cost_on(timing const& t, rank_t rank, Act const& act) {
  return costs_on(t, rank, 1, [&](chip& c, core& me, int) { act(c, me); }).front();
}
/// The same for stores of core 0, each of which waits for the store before: act(chip, core, i, number in the
/// row).
template <class Act>
std::vector<double> costs_of_stores(timing const& t, int many, Act const& act) {
  constexpr int row = 16;
  std::vector<double> costs;
  on_chip(cores, timed(t), [&](chip& c, rank_t self) {
    for (int i = 0; self == 0 && i < many; ++i) {
      act(c, c.at(0), i, 0);
      double const begin = now(c, 0);
      for (int k = 1; k <= row; ++k) act(c, c.at(0), i, k);
      costs.push_back((now(c, 0) - begin) / row);
    }
  });
  return costs;
}

/// Reads from every core's buffer.
std::vector<double> reads_of_buffers(timing const& t, rank_t from) {
  return costs_on(t, from, cores,
                  [](chip&, core& me, int owner) { (void)load(me, page_type::ncm, buffer_of(owner)); });
}
/// The address at which core 0 maps memory of another core that uses this controller.
physical_address memory_at(chip& c, core& me, int controller) {
  rank_t const owner = std::array<rank_t, 4>{0, 6, 24, 30}[static_cast<std::size_t>(controller)];
  return static_cast<physical_address>(me.map(c.dram().first_page(owner)) * page_bytes);
}

void read_memory(chip& c, core& me, int controller) {
  (void)load(me, page_type::ncm, memory_at(c, me, controller));
}

/// The number of hops, counted on a map of the chip.
int apart(tile a, tile b) {
  return std::abs(static_cast<int>(a % 6) - static_cast<int>(b % 6)) +
         std::abs(static_cast<int>(a / 6) - static_cast<int>(b / 6));
}
constexpr std::array<tile, 4> controller_tiles{0, 5, 12, 17};

/// Two slots and a cell of each rank.
template <class Team>
auto words_of(Team& team) {
  pgas::control_words const each{.slots = 2, .cells = 1};
  auto& b = team.state()->backend;
  std::uint64_t handle = 0;
  if (team.rank() == 0) handle = b.reserve_control(each);
  return b.attach_control(team.broadcast(handle, 0), each, "test words");
}

/// The traffic of several stations together.
double sum(std::vector<pgas::scc::load> const& all) {
  double requests = 0;
  for (auto const& one : all) requests += static_cast<double>(one.requests);
  return requests;
}

// ---- single accesses -------------------------------------------------------------------------------

TEST_CASE("an access takes the time of the literature's formulas, between all pairs of places") {
  struct row {
    timing const* set;
    double core_mhz, mesh_mhz, memory_mhz;
  };
  for (row const& r : {row{&pgas::scc::formulas_533, 1600.0 / 3, 800, 800},
                       row{&pgas::scc::formulas_533_1066, 1600.0 / 3, 800, 3200.0 / 3},
                       row{&pgas::scc::formulas_800, 800, 1600, 3200.0 / 3}}) {
    std::string const name(r.set->name);
    CAPTURE(name);
    double const mesh = r.core_mhz / r.mesh_mhz;
    double const memory = r.core_mhz / r.memory_mhz;
    for (rank_t const from : {0, 11, 26, 47}) {
      auto const reads = reads_of_buffers(*r.set, from);
      for (rank_t owner = 0; owner < cores; ++owner) {
        int const d = apart(static_cast<tile>(from) / 2, static_cast<tile>(owner) / 2);
        CAPTURE(from);
        CAPTURE(owner);
        CHECK(reads[static_cast<std::size_t>(owner)] ==
              doctest::Approx(45 + 8 * std::max(d, 1) * mesh).epsilon(0.005));
      }
    }
    auto const reads = costs_on(*r.set, 0, 4, read_memory);
    for (std::size_t m = 0; m < 4; ++m) {
      CHECK(reads[m] ==
            doctest::Approx(40 + 8 * apart(0, controller_tiles[m]) * mesh + 46 * memory).epsilon(0.005));
    }
  }
}

// Source of the three tables: Barrelfish technical note 5, from tile (0,0), in core cycles.
TEST_CASE("Barrelfish's tables of the message passing buffers are reproduced within 3 cycles") {
  constexpr std::array<int, 24> writes{39, 84, 89, 90,  95,  101, 84, 89, 89,  95,  101, 108,
                                       89, 89, 95, 101, 107, 113, 89, 95, 101, 108, 113, 119};
  constexpr std::array<int, 24> reads{20, 63, 69, 72, 78, 84, 63, 69, 72, 78, 84, 90,
                                      69, 72, 78, 84, 90, 96, 72, 78, 84, 90, 96, 102};
  line const bytes{};
  auto const read = reads_of_buffers(pgas::scc::barrelfish, 0);
  auto const written = costs_of_stores(pgas::scc::barrelfish, 24, [&](chip&, core& me, int t, int i) {
    me.store(page_type::ncm_wcb, buffer_of(2 * t) + static_cast<physical_address>(i % 8) * 32, bytes);
  });
  for (std::size_t t = 0; t < 24; ++t) {
    CAPTURE(t);
    CHECK(std::abs(written[t] - writes[t]) <= 3);
    CHECK(std::abs(read[2 * t] - reads[t]) <= 3);
  }
}

TEST_CASE("Barrelfish's table of memory is reproduced within 5 %") {
  constexpr std::array<double, 4> word{97, 121, 105, 134}, words{779, 972, 843, 1069},
      combined{122, 146, 134, 158};
  auto const& t = pgas::scc::barrelfish;
  line const bytes{};
  auto const stores_as = [&](page_type type) {
    return costs_of_stores(t, 4, [&](chip& c, core& me, int m, int i) {
      me.store(type, memory_at(c, me, m) + static_cast<physical_address>(i) * 32, bytes);
    });
  };
  auto const read = costs_on(t, 0, 4, read_memory);
  auto const serial = stores_as(page_type::ncm);
  auto const together = stores_as(page_type::ncm_wcb);
  for (std::size_t m = 0; m < 4; ++m) {
    CAPTURE(m);
    CHECK(read[m] == doctest::Approx(word[m]).epsilon(0.05));
    CHECK(serial[m] == doctest::Approx(words[m]).epsilon(0.05));
    CHECK(together[m] == doctest::Approx(combined[m]).epsilon(0.05));
  }
}

TEST_CASE("hits, instructions and registers take the time that their sources state") {
  auto const& t = pgas::scc::formulas_533;
  auto const cost = [&](auto const& act) { return cost_on(t, 0, act); };
  CHECK(cost([](chip&, core& me) { (void)load(me, page_type::dcm, 0); }) == doctest::Approx(1));
  line bytes{};
  CHECK(cost([&](chip&, core& me) { me.load(page_type::dcm, 0, bytes); }) == doctest::Approx(8));
  // Five lines of one set of L1, which has four ways: at its turn, each line is in L2 only.
  int turn = 0;
  CHECK(cost([&](chip&, core& me) {
          if (turn == 0) {
            for (int i = 0; i < 5; ++i)
              (void)load(me, page_type::dcm, static_cast<physical_address>(i) * 4096);
          } else {
            (void)load(me, page_type::dcm, 0);
          }
          ++turn;
        }) == doctest::Approx(18));
  CHECK(cost([](chip&, core& me) { me.drop_tagged(); }) == doctest::Approx(1));
  CHECK(cost([](chip&, core& me) { me.write_back_l1(); }) == doctest::Approx(12000));
  CHECK(cost([](chip&, core& me) { me.invalidate_l1(); }) == doctest::Approx(2000));
  CHECK(cost([](chip&, core& me) { me.flush_l2(0, 1); }) == doctest::Approx(2000 + 580));
  CHECK(cost([](chip&, core& me) { me.flush_l2(0, 1 << 20); }) == doctest::Approx(2000 + 600000));
  CHECK(cost([](chip& c, core&) { c.reach(0, station::registers_of(0), asks::read_word); }) ==
        doctest::Approx(45 + 8 * 2.0 / 3).epsilon(0.005));

  // Increment registers take four times as long as test-and-set registers, if all are read from everywhere.
  for (auto const* set : pgas::scc::all_timings) {
    double tests = 0, increments = 0;
    for (rank_t r = 0; r < cores; r += 6) {
      increments += cost_on(
          *set, r, [&](chip& c, core&) { c.reach(r, station::at(station::interface, 0), asks::read_word); });
      for (double one : costs_on(*set, r, cores, [&](chip& c, core&, int owner) {
             c.reach(r, station::registers_of(owner), asks::read_word);
           })) {
        tests += one / cores;
      }
    }
    CHECK(increments / tests == doctest::Approx(4).epsilon(0.1));
  }
}

TEST_CASE("changing a table entry takes an access to the own tile's registers") {
  on_chip(2, timed(pgas::scc::formulas_533), [](chip& c, rank_t self) {
    if (self != 0) return;
    core& me = c.at(0);
    std::array<double, 2> cost{};
    for (double& one : cost) {  // the page is mapped the second time
      double const begin = now(c, 0);
      (void)load(me, page_type::ncm,
                 static_cast<physical_address>(me.map(c.dram().first_page(1)) * page_bytes));
      one = now(c, 0) - begin;
    }
    CHECK(cost[0] - cost[1] == doctest::Approx(45 + 8 * 2.0 / 3).epsilon(0.005));
  });
}

TEST_CASE("with a clock the adversary does nothing") {
  auto how = timed(pgas::scc::formulas_533);
  how.against = {.fill = 1, .evict = 1, .drain = 1};
  on_chip(1, how, [](chip& c, rank_t) {
    for (physical_address at = 0; at < 8192; at += 32) (void)load(c.at(0), page_type::dcm, at);
    CHECK(c.at(0).count().evictions == 0);
    CHECK(c.at(0).count().spurious_fills == 0);
  });
}

TEST_CASE("with the chip's defect, a read of a write-through page takes as long as an uncached one") {
  for (bool const cached : {true, false}) {
    auto how = timed(pgas::scc::formulas_533);
    how.through_pages_cached = cached;
    on_chip(1, how, [&](chip& c, rank_t) {
      (void)load(c.at(0), page_type::mpbt_wt, 0);
      double const begin = now(c, 0);
      (void)load(c.at(0), page_type::mpbt_wt, 0);
      CHECK((now(c, 0) - begin == doctest::Approx(1)) == cached);
    });
  }
}

TEST_CASE("a store lets its core go on, and the next access waits for the store") {
  on_chip(1, timed(pgas::scc::formulas_533), [](chip& c, rank_t) {
    store(c.at(0), page_type::ncm, 0, 1);
    CHECK(now(c, 0) < 10);
    (void)load(c.at(0), page_type::ncm, 64);
    double const two = now(c, 0);
    CHECK(two > 2 * 70);
    store(c.at(0), page_type::ncm, 0, 1);
    c.time()->spend(0, 1000 * 6);
    double const begin = now(c, 0);
    (void)load(c.at(0), page_type::ncm, 64);
    CHECK(now(c, 0) - begin < 72);  // the store ended long ago
  });
}

TEST_CASE("a modified line that is replaced goes to memory, which takes time") {
  auto const fills = [](bool modified) {
    double cost = 0;
    on_chip(1, timed(pgas::scc::formulas_533), [&](chip& c, rank_t) {
      for (int i = 0; i < 16; ++i) {  // of one set of L2
        auto const at = static_cast<physical_address>(i) * 65536;
        (void)load(c.at(0), page_type::dcm, at);
        if (modified) store(c.at(0), page_type::dcm, at, 1);
      }
      cost = now(c, 0);
    });
    return cost;
  };
  CHECK(fills(true) > fills(false) + 10 * 70);
}

// ---- accesses that meet ----------------------------------------------------------------------------

/// Core cycles a line for each of the first cores to get lines from one buffer, or to put them there, all at
/// the same time.
std::vector<double> lines_at_once(rank_t first, rank_t last, bool put) {
  std::vector<double> cost;
  constexpr double begin = 2000, end = 12000;
  auto how = timed(pgas::scc::formulas_533);
  on_chip(cores, how, [&](chip& c, rank_t self) {
    if (self < first || self >= last) return;
    core& me = c.at(self);
    line bytes{};
    me.load(page_type::dcm, 0, bytes);  // to the place from which it is read
    int done = 0;
    for (physical_address i = 0; now(c, self) < end; ++i) {
      auto const at = buffer_of(0) + i % 128 * 32;
      if (put) {
        me.store(page_type::ncm_wcb, at, bytes);
        c.time()->spend(self, 8 * 6);  // the source is in L1
      } else {
        if (i % 128 == 0) me.drop_tagged();
        me.load(page_type::mpbt_wt, at, bytes);
        me.store(page_type::dcm, 0, bytes);
      }
      if (now(c, self) > begin) ++done;
    }
    cost.resize(cores);
    cost[static_cast<std::size_t>(self)] = (end - begin) / done;
  });
  return {cost.begin() + first, cost.begin() + last};
}

// Source: Shahmirzadi 2014, section 2.4: up to 24 cores at one buffer do not slow each other down. With 48,
// the slowest gets take more than twice as long as the fastest, and puts of a line more than four times.
TEST_CASE("24 cores at one buffer do not slow each other down, 48 do, and some more than others") {
  for (bool const put : {false, true}) {
    CAPTURE(put);
    double alone = 0;
    for (rank_t r = 0; r < 24; ++r) alone += lines_at_once(r, r + 1, put).front();
    auto const half = lines_at_once(0, 24, put);
    CHECK(std::accumulate(half.begin(), half.end(), 0.0) < 1.1 * alone);
    auto const all = lines_at_once(0, cores, put);
    auto const [fastest, slowest] = std::minmax_element(all.begin(), all.end());
    CHECK(*slowest / *fastest > (put ? 4 : 2));
    CHECK(*slowest / *fastest < (put ? 8 : 4));
  }
}

// Source: Christgau and Schnor 2019, table 3: with 11 readers that poll near by, a byte of a put takes 2.5
// times as long. With 11 that poll at another controller, it takes 1.05 times as long.
TEST_CASE("cores that poll at a writer's controller slow its uncached stores down, and other cores do not") {
  auto const a_store = [](std::vector<rank_t> const& pollers, unsigned controller) {
    double cost = 0;
    on_chip(cores, timed(pgas::scc::formulas_533), [&](chip& c, rank_t self) {
      if (self == 0) {
        for (number i = 0; i < 10; ++i) store(c.at(0), page_type::ncm, 0, i);
        double const begin = now(c, 0);
        for (number i = 0; i < 100; ++i) store(c.at(0), page_type::ncm, 0, i);
        cost = (now(c, 0) - begin) / 100;
      } else if (std::find(pollers.begin(), pollers.end(), self) != pollers.end()) {
        while (now(c, self) < 20000)
          c.reach(self, station::at(station::controller, controller), asks::read_word);
      }
    });
    return cost;
  };
  std::vector<rank_t> const near{1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17},
      far{6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22};
  double const alone = a_store({}, 0);
  CHECK(a_store(near, 0) / alone == doctest::Approx(2.5).epsilon(0.25));
  CHECK(a_store(far, 0) / alone == doctest::Approx(2.5).epsilon(0.25));
  CHECK(a_store(far, 1) / alone == doctest::Approx(1).epsilon(0.05));
}

// Source: Christgau 2017, section 3.4.5: a program whose cores store every 109 cycles has a linear speed-up.
TEST_CASE(
    "the stores of twelve cores that compute in between do not slow each other down at one controller") {
  auto const a_store = [](rank_t first, rank_t last) {
    double cost = 0;
    on_chip(cores, timed(pgas::scc::formulas_533), [&](chip& c, rank_t self) {
      if (self < first || self >= last || self % 12 >= 6) return;
      double const begin = now(c, self);
      for (number i = 0; i < 200; ++i) {
        c.time()->spend(self, 108 * 6);
        store(c.at(self), page_type::ncm, 0, i);
      }
      cost = std::max(cost, (now(c, self) - begin) / 200);
    });
    return cost;
  };
  CHECK(a_store(0, 1) == doctest::Approx(109).epsilon(0.01));
  CHECK(a_store(0, 24) < 1.03 * a_store(0, 1));
}

TEST_CASE("cores that try to take one register get it unequally often") {
  std::vector<int> done(cores);
  on_chip(cores, timed(pgas::scc::formulas_533), [&](chip& c, rank_t self) {
    for (; now(c, self) < 10000; ++done[static_cast<std::size_t>(self)])
      c.reach(self, station::registers_of(0), asks::read_word);
  });
  auto const [fewest, most] = std::minmax_element(done.begin(), done.end());
  CHECK(*most > 2 * *fewest);
  CHECK(*fewest > 0);
}

TEST_CASE("a link passes one packet at a time, in the gaps that are left") {
  link l;
  CHECK(l.pass(100, 10, 0) == 100);
  CHECK(l.pass(105, 10, 0) == 110);
  CHECK(l.pass(85, 10, 0) == 85);   // asked for later, at an earlier time
  CHECK(l.pass(92, 10, 0) == 120);  // the gap of 5 is too short
  CHECK(l.pass(90, 5, 0) == 95);
  CHECK(l.queued == 5 + 28 + 5);
  CHECK(l.busy == 45);
  std::set<ticks> taken;
  for (ticks i = 0; i < 200; ++i) {  // removed on the way
    ticks const begin = l.pass(1000 + i * 7 % 40 + i * 9, 12, 1000 + i * 9);
    for (ticks at = begin; at < begin + 12; ++at) CHECK(taken.insert(at).second);
  }
}

TEST_CASE("packets travel along their row first, in both directions") {
  on_chip(
      cores, timed(pgas::scc::formulas_533),
      [](chip& c, rank_t self) {
        if (self == 0) (void)load(c.at(0), page_type::ncm, buffer_of(16));  // from tile (0,0) to tile (2,1)
      },
      [](chip& c) {
        std::set<std::string> used;
        for (auto const& l : c.time()->report().links) {
          if (l.requests > 0) used.insert(l.name);
        }
        CHECK(used == std::set<std::string>{"(0,0) out", "(0,0) east", "(1,0) east", "(2,0) north",
                                            "(2,1) west", "(1,1) west", "(0,1) south", "(0,0) in"});
      });
}

// ---- invariants ------------------------------------------------------------------------------------

/// Every core reads, writes and modifies words and lines at various places.
template <class Look>
void busy_chip(std::uint64_t seed, Look const& look) {
  auto how = timed(pgas::scc::formulas_533);
  on_chip(
      cores, how,
      [&](chip& c, rank_t self) {
        core& me = c.at(self);
        pgas::scc::dice dice(seed * 100 + static_cast<std::uint64_t>(self));
        line bytes{};
        for (int i = 0; i < 300; ++i) {
          auto const at = static_cast<physical_address>(dice.below(64) * 32);
          auto const buffer = buffer_of(static_cast<rank_t>(dice.below(cores))) + at;
          switch (dice.below(7)) {
            case 0:
              me.load(page_type::mpbt_wt, buffer, bytes);
              break;
            case 1:
              me.store(page_type::mpbt_wt, buffer, bytes);
              break;
            case 2:
              me.store(page_type::ncm, at, bytes);
              break;
            case 3:
              me.load(page_type::dcm, at + static_cast<physical_address>(dice.below(1000)) * 4096, bytes);
              break;
            case 4:
              c.reach(self, station::registers_of(static_cast<rank_t>(dice.below(cores))), asks::read_word);
              break;
            case 5:
              c.reach(self, station::at(station::interface, 0), asks::write_word);
              break;
            default:
              me.drop_tagged();
              c.time()->spend(self, dice.below(2000));
          }
        }
        me.drain();
      },
      look);
}

TEST_CASE("every request is answered once, and no station works faster than its rate") {
  busy_chip(1, [](chip& c) {
    traffic const t = c.time()->report();
    double const served =
        sum(t.buffers) + sum(t.registers) + sum(t.controllers) + static_cast<double>(t.interface.requests);
    double asked = 0, answered = 0;
    double end = 0;
    for (double clock : t.clocks) end = std::max(end, clock);
    end += 1000;  // the last stores are still under way
    for (std::size_t i = 0; i < t.links.size(); ++i) {
      auto const& l = t.links[i];
      if (i % 6 == 4) asked += static_cast<double>(l.requests);
      if (i % 6 == 5) answered += static_cast<double>(l.requests);
      CHECK(l.busy <= end);
    }
    CHECK(asked == served);
    CHECK(answered == served);
    CHECK(served > 10000);
    for (auto const* all : {&t.buffers, &t.registers, &t.controllers}) {
      for (auto const& one : *all) CHECK(one.busy <= end);
    }
    CHECK(t.interface.busy <= end);
    CHECK(t.interface.queued > 0);
  });
}

TEST_CASE("two runs with one seed have equal clocks, another seed has others") {
  std::array<std::vector<double>, 3> clocks;
  for (std::size_t i = 0; i < 3; ++i)
    busy_chip(i / 2, [&](chip& c) { clocks[i] = c.time()->report().clocks; });
  CHECK(clocks[0] == clocks[1]);
  CHECK(clocks[0] != clocks[2]);
}

TEST_CASE("no core sees future values") {
  constexpr rank_t ranks = 12;
  int seen_others = 0;
  on_chip(ranks, timed(pgas::scc::formulas_533), [&](chip& c, rank_t self) {
    core& me = c.at(self);
    pgas::scc::dice dice(static_cast<std::uint64_t>(self));
    number last = 0;
    for (int i = 0; i < 500; ++i) {
      c.time()->spend(self, dice.below(3000));
      if (dice.one_in(2)) {
        store(me, page_type::ncm, buffer_of(0), static_cast<number>(c.turns().time().now(self)));
      } else {
        number const seen = load(me, page_type::ncm, buffer_of(0));
        CHECK(seen <= c.turns().time().now(self));
        if (seen != last) ++seen_others;
        last = seen;
      }
    }
  });
  CHECK(seen_others > ranks * 100);
}

TEST_CASE("charge and pause pass time, and other cores overtake a computing core") {
  with_options const chosen(timed(pgas::scc::formulas_800));
  pgas::run<backend>(2, [](auto& team) {
    double const cycles = pgas::scc::cycles_of(team);
    double const us = pgas::scc::microseconds_of(team);
    auto const before = team.now();
    team.charge(8000);
    CHECK(pgas::scc::cycles_of(team) - cycles == doctest::Approx(8000));
    CHECK(pgas::scc::microseconds_of(team) - us == doctest::Approx(10));
    CHECK(std::chrono::duration<double, std::micro>(team.now() - before).count() ==
          doctest::Approx(10).epsilon(0.001));
    team.barrier();
    auto const control = words_of(team);
    double const before_pause = pgas::scc::cycles_of(team);
    control.pause(0, {.operation = "test"});
    CHECK(pgas::scc::cycles_of(team) - before_pause >= 533);
    team.barrier();
    if (team.rank() == 0) team.charge(1000000);
    team.barrier();
    CHECK(pgas::scc::cycles_of(team) > 1000000);
  });
}

// ---- programs --------------------------------------------------------------------------------------

/// A neighbour exchange in epochs, a sum under locks and a reduction, whose result does not depend on the
/// order.
std::uint64_t program() {
  return pgas::run<backend>(8, [](auto& team) {
    auto window = pgas::make_window<std::uint64_t>(team, 4);
    auto const rank = static_cast<std::uint64_t>(team.rank());
    for (std::uint64_t round = 0; round < 3; ++round) {
      pgas::fence epoch(window);
      epoch.put((team.rank() + 1) % team.size(), round, rank * 10 + round);
      epoch.close();
    }
    std::uint64_t all = 0;
    {
      pgas::fence epoch(window);
      for (std::size_t i = 0; i < 3; ++i) all = all * 31 + epoch.get((team.rank() + 3) % team.size(), i);
      epoch.close();
    }
    return team.all_reduce(all * (rank + 1));
  });
}

TEST_CASE("the clock changes no result") {
  std::uint64_t const expected = program();
  CHECK(expected != 0);
  for (auto const* set : pgas::scc::all_timings) {
    for (auto const where : {placement::distributed, placement::central}) {
      auto how = timed(*set);
      how.words = where;
      with_options const chosen(how);
      CHECK(program() == expected);
      CHECK(backend::last_traffic().clocks.size() == 8);
    }
  }
}

TEST_CASE("control words lie at their owners' controllers, or at one") {
  for (bool const central : {false, true}) {
    auto how = timed(pgas::scc::formulas_533);
    how.words = central ? placement::central : placement::distributed;
    how.central_controller = 2;
    with_options const chosen(how);
    pgas::run<backend>(cores, [](auto& team) { team.barrier(); });
    auto const& all = backend::last_traffic().controllers;
    for (std::size_t m = 0; m < 4; ++m) CHECK((all[m].requests > 0) == (!central || m == 2));
  }
}

/// Rank 0 computes for long, and meets the other ranks twice; they poll in the meantime.
struct polled {
  traffic what;
  std::uint64_t loads = 0;
};
polled wait_long(bool each_poll) {
  auto how = timed(pgas::scc::formulas_533);
  how.each_poll = each_poll;
  with_options const chosen(how);
  pgas::run<backend>(24, [](auto& team) {
    for (int i = 0; i < 2; ++i) {
      if (team.rank() == 0) team.charge(100000);
      team.barrier();
    }
  });
  polled result{backend::last_traffic()};
  for (auto const& c : backend::last_counters()) result.loads += c.word_accesses;
  return result;
}

TEST_CASE("polls that see nothing new are counted and timed as if each were made") {
  polled const all = wait_long(true);
  polled const some = wait_long(false);
  CHECK(all.loads > 10000);
  CHECK(static_cast<double>(some.loads) == doctest::Approx(static_cast<double>(all.loads)).epsilon(0.005));
  for (std::size_t r = 0; r < 24; ++r)
    CHECK(some.what.clocks[r] == doctest::Approx(all.what.clocks[r]).epsilon(0.005));
  for (std::size_t i = 0; i < 4; ++i) {
    auto const& a = all.what.controllers[i];
    auto const& b = some.what.controllers[i];
    CHECK(b.busy == doctest::Approx(a.busy).epsilon(0.01));
    CHECK(b.queued == doctest::Approx(a.queued).epsilon(0.05));
  }
  CHECK(sum(some.what.links) == doctest::Approx(sum(all.what.links)).epsilon(0.01));
}

TEST_CASE("a read-modify-write is four accesses, and each test of a taken register is one more") {
  with_options const chosen(timed(pgas::scc::formulas_533));
  auto const registers = [](pgas::word times) {
    pgas::run<backend>(cores, [=](auto& team) {
      auto const control = words_of(team);
      team.barrier();
      for (pgas::word i = 0; i < times; ++i) control.cell(0, 0).fetch_add(1, std::memory_order_relaxed);
      team.barrier();
      CHECK(control.cell(0, 0).load(std::memory_order_relaxed) == cores * times);
    });
    auto const at_0 = backend::last_traffic().registers[0].requests;
    std::uint64_t spins = 0;
    for (auto const& c : backend::last_counters()) spins += c.register_spins;
    return std::pair(at_0, spins);
  };
  auto const [before, spins_before] = registers(0);
  auto const [after, spins] = registers(10);
  CHECK(spins > 1000);
  CHECK(after - spins == before - spins_before + 2 * 10 * cores);
}

TEST_CASE(
    "a shared lock takes one read-modify-write to enter and one to leave, with any number of other holders") {
  with_options const chosen(timed(pgas::scc::formulas_533));
  auto const registers = [](int times) {
    pgas::run<backend>(cores, [=](auto& team) {
      auto const w = pgas::make_window<int>(team.template with<pgas::coherence::write_through>(), 1);
      team.barrier();
      for (int i = 0; i < times; ++i) pgas::lock const epoch{w, 0, pgas::shared};
      team.barrier();
    });
    std::uint64_t all = 0;
    for (auto const& c : backend::last_counters()) all -= c.register_spins;
    for (auto const& r : backend::last_traffic().registers) all += r.requests;
    return all;
  };
  CHECK(registers(10) - registers(0) == 2 * 2 * 10 * cores);
}

TEST_CASE("a word that changes during the poll of another word is no deadlock") {
  with_options const chosen(timed(pgas::scc::formulas_533));
  pgas::run<backend>(2, [](auto& team) {
    auto const control = words_of(team);
    auto const is_set = [](pgas::word w) { return w != 0; };
    for (std::uint64_t delay = 0; delay < 300; delay += 3) {
      team.barrier();
      if (team.rank() == 0) {
        std::vector both{control.slot(0, 0, 1), control.slot(0, 1, 1)};
        CHECK(control.wait_any(std::span(both), is_set, {.operation = "test"}) == 0);
        control.slot(1, 0, 0).store(1, std::memory_order_release);
        team.barrier();
        control.slot(1, 0, 0).store(0, std::memory_order_release);
      } else {
        team.charge(500 + delay);
        control.slot(0, 0, 1).store(1, std::memory_order_release);
        control.wait_until(control.slot(1, 0, 0), is_set, {.operation = "test"});
        control.slot(0, 0, 1).store(0, std::memory_order_release);
        team.barrier();
      }
    }
  });
}

/// The error of run for a program that cannot end.
template <class Body>
pgas::error failure_of(rank_t ranks, Body const& body) {
  with_options const chosen(timed(pgas::scc::formulas_533));
  try {
    pgas::run<backend>(ranks, body);
  } catch (pgas::error const& e) {
    return e;
  }
  return {errc::unsupported, -1, "nothing was thrown"};
}

TEST_CASE("with a clock, too, a deadlock is reported, with the rank that each rank waits for") {
  auto const e = failure_of(3, [](auto& team) {
    if (team.rank() != 1) team.barrier();
  });
  CHECK(e.code() == pgas::make_error_code(errc::deadlock));
  std::string const what = e.what();
  CAPTURE(what);
  CHECK(what.find("rank 0 waits in barrier (team) for rank") != std::string::npos);
  CHECK(what.find("none of them can go on") != std::string::npos);
}

TEST_CASE("with a clock a deadline is one of virtual time") {
  with_options const chosen(timed(pgas::scc::formulas_533));
  auto const begin = std::chrono::steady_clock::now();
  double waited = 0;
  pgas::run<backend>(2, [&waited](auto& team) {
    auto const control = words_of(team);
    auto const word = control.slot(0, 0, 1);
    if (team.rank() == 0) {
      double const us = pgas::scc::microseconds_of(team);
      bool timed_out = false;
      try {
        control.wait_until(
            word, [](pgas::word w) { return w == 1; },
            {.operation = "await", .awaited = std::array{rank_t{1}}, .deadline = team.now() + 3600s});
      } catch (pgas::error const& e) {
        timed_out = e.code() == pgas::make_error_code(errc::timed_out);
      }
      CHECK(timed_out);
      waited = pgas::scc::microseconds_of(team) - us;
    }
    team.barrier();
  });
  CHECK(waited == doctest::Approx(3600e6).epsilon(0.001));
  CHECK(std::chrono::steady_clock::now() - begin < 60s);
}

TEST_CASE("a core that is woken at the start continues at the time of the core that wakes it") {
  auto const j = pgas::detail::job::create(2, false);
  chip c(j, timed(pgas::scc::formulas_533));
  bool ready = false;
  pgas::detail::scc::waiters waiting = 0;
  c.turns().run([&](rank_t rank) {
    if (rank == 1) {
      c.time()->spend(1, 6000);
      ready = true;
      c.turns().wake(std::exchange(waiting, 0));
      return;
    }
    pgas::detail::scc::waiters* const list = &waiting;
    pgas::detail::team_ranks const all(0, 2);
    pgas::waiting_for const why{.operation = "test"};
    c.turns().wait(
        std::span(&list, 1), [&] { return ready; }, why, "test", all);
    CHECK(now(c, 0) == doctest::Approx(1000));
  });
}

// ---- interrupts ------------------------------------------------------------------------------------

using pgas::detail::scc::interrupt_pin;

void raise(chip& c, rank_t self, rank_t target) {
  c.reach(self, station::registers_of(target), asks::write_word);
  c.pin_of(target).raise(self);
}
/// Core cycles from just before a core raises an interrupt to the first instruction of its handler. The
/// interrupted core does act(chip, core) after act() has come to its place.
template <class Act>
double delivery(timing const& t, rank_t from, rank_t to, Act const& act) {
  double raised = 0;
  double handled = 0;
  on_chip(cores, timed(t), [&](chip& c, rank_t self) {
    if (self == from) {
      c.pin_of(from).compute(20000 * t.core);
      raised = now(c, from);
      raise(c, from, to);
    } else if (self == to) {
      interrupt_pin::handler const note = [&] { handled = now(c, to); };
      c.pin_of(to).handle_by(&note);
      act(c, c.at(to));
      c.pin_of(to).handle_by(nullptr);
    }
  });
  return handled - raised;
}
void sleep(chip& c, core& me) {
  auto& pin = c.pin_of(me.number());
  pin.sleep_until([&] { return pin.taken() == 1; }, {.operation = "sleep"},
                  pgas::detail::team_ranks(me.number(), cores));
}
void hit_for_long(chip& c, core& me) {
  while (now(c, me.number()) < 40000) (void)load(me, page_type::dcm, 0);
}
void compute_for_long(chip& c, core& me) { c.pin_of(me.number()).compute(40000 * c.time()->how().core); }

TEST_CASE(
    "an interrupt takes the time that Barrelfish measured and its write's way, during any activity of its "
    "core") {
  for (timing const* t : {&pgas::scc::formulas_533, &pgas::scc::barrelfish}) {
    CHECK(delivery(*t, 0, 1, sleep) == doctest::Approx(612).epsilon(0.05));
    double const near = delivery(*t, 0, 2, sleep);
    for (rank_t to : {3, 10, 26, 47}) {
      double const hops = apart(0, static_cast<tile>(to / 2)) - 1;
      CHECK(delivery(*t, 0, to, sleep) - near ==
            doctest::Approx(hops * t->in_core_cycles(t->in_ticks(t->hop))));
      CHECK(delivery(*t, 0, to, compute_for_long) == doctest::Approx(delivery(*t, 0, to, sleep)));
      double const late = delivery(*t, 0, to, hit_for_long) - delivery(*t, 0, to, sleep);
      CHECK(late >= 0);  // the instruction at hand comes to its end
      CHECK(late <= 1);
    }
  }
}

TEST_CASE("an interrupted computation takes longer by the time of the interrupt") {
  double ended = 0;
  (void)delivery(pgas::scc::formulas_533, 0, 10, [&](chip& c, core& me) {
    compute_for_long(c, me);
    ended = now(c, me.number());
  });
  CHECK(ended == doctest::Approx(40000 + 612));
}

TEST_CASE("an interrupt during a store finds the core at the time at which the store let it go on") {
  double handled = 0;
  on_chip(cores, timed(pgas::scc::formulas_533), [&](chip& c, rank_t self) {
    if (self == 0) raise(c, 0, 1);
    if (self != 1) return;
    interrupt_pin::handler const note = [&] { handled = now(c, 1); };
    c.pin_of(1).handle_by(&note);
    store(c.at(1), page_type::ncm, buffer_of(47), 1);  // served after the interrupt has come
    CHECK(now(c, 1) < 10);
    compute_for_long(c, c.at(1));
    c.pin_of(1).handle_by(nullptr);
  });
  CHECK(handled > 612 + 10);
  CHECK(handled < 612 + 50);
}

TEST_CASE("a sleeping core puts nothing on the mesh") {
  auto const links = [](bool sleeps) {
    double requests = 0;
    on_chip(
        2, timed(pgas::scc::formulas_533),
        [&](chip& c, rank_t self) {
          interrupt_pin::handler const nothing = [] {};
          c.pin_of(self).handle_by(&nothing);
          if (self == 0) {
            c.pin_of(0).compute(100000 * c.time()->how().core);
            raise(c, 0, 1);
          } else if (sleeps) {
            sleep(c, c.at(1));
          } else {
            while (c.pin_of(1).taken() == 0) (void)load(c.at(1), page_type::ncm, buffer_of(1));
          }
          c.pin_of(self).handle_by(nullptr);
        },
        [&](chip& c) { requests = sum(c.time()->report().links); });
    return requests;
  };
  CHECK(links(true) == 2);  // the write, and its answer
  CHECK(links(false) > 1000);
}

// Source: Barrelfish technical note 5, its interconnect and its benchmark of notifications: 1081 cycles at
// one hop and 1312 at eight. The last of the seven accesses is a store, for which it does not wait.
TEST_CASE("Barrelfish's notification costs its sender 33 cycles for each hop") {
  auto const send = [](rank_t to) {
    double takes = 0;
    on_chip(cores, timed(pgas::scc::barrelfish), [&](chip& c, rank_t self) {
      if (self != 0) return;
      c.reach(0, station::registers_of(to), asks::read_word);  // takes the test-and-set register
      (void)load(c.at(0), page_type::ncm, buffer_of(to));
      for (std::size_t const at : {line_bytes, std::size_t{0}}) {  // the channel's number, the position
        store(c.at(0), page_type::mpbt_wt, buffer_of(to) + static_cast<physical_address>(at), 1);
        c.at(0).drain();
      }
      c.reach(0, station::registers_of(to), asks::read_word);  // does a notification wait already?
      raise(c, 0, to);
      c.reach(0, station::registers_of(to), asks::write_word);
      takes = now(c, 0);
    });
    return takes;
  };
  CHECK((send(47) - send(2)) / 7 == doctest::Approx((1312 - 1081) / 7.0).epsilon(0.05));
}

TEST_CASE("with a clock, too, a polling core is interrupted, and a core that sleeps for ever is named") {
  double polled = 0;
  with_options const chosen(timed(pgas::scc::formulas_533));
  pgas::run<backend>(2, [&](auto& team) {
    auto const control = words_of(team);
    auto const pins = pgas::scc::interrupts_of(team);
    team.barrier();
    if (team.rank() == 0) {
      double handled = 0;
      auto const handler = pins.on_interrupt([&] { handled = pgas::scc::cycles_of(team); });
      double const begin = pgas::scc::cycles_of(team);
      control.wait_until(control.slot(0, 0, 1), [](pgas::word w) { return w == 1; }, {.operation = "test"});
      polled = handled - begin;
      CHECK(pgas::scc::cycles_of(team) - begin > 50000);
    } else {
      team.charge(20000);
      pins.raise(0);
      team.charge(30000);
      control.slot(0, 0, 1).store(1, std::memory_order_release);
    }
  });
  CHECK(polled == doctest::Approx(20612).epsilon(0.02));
  auto const e = failure_of(2, [](auto& team) {
    if (team.rank() == 1) pgas::scc::interrupts_of(team).sleep_until([] { return false; });
  });
  CHECK(e.code() == pgas::make_error_code(errc::deadlock));
  CHECK(std::string(e.what()).find("rank 1 waits in sleep (interrupt) for rank 0") != std::string::npos);
}

}  // namespace

TEST_CASE("a heat map shows each part of the chip once, with its share of the run and its requests") {
  traffic run;
  std::size_t parts = 0;
  auto const some = [&](std::string const& name) {
    // Shares from 0.01 % on, each of them different.
    auto const n = static_cast<double>(++parts);
    return pgas::scc::load{name, parts, 10 * n, 3 * n};
  };
  run.clocks.assign(cores, 100000.0);
  for (unsigned t = 0; t < 24; ++t) {
    for (unsigned d = 0; d < 6; ++d) run.links.push_back(some("link"));
    run.buffers.push_back(some("buffer"));
    run.registers.push_back(some("registers"));
  }
  for (int c = 0; c < 4; ++c) run.controllers.push_back(some("controller"));
  run.interface = some("system interface");
  std::string const drawn = pgas::scc::heat_map(run, "a < b & c");
  CHECK(drawn.find("a &lt; b &amp; c") != std::string::npos);

  std::multiset<std::string> requests;
  for (std::size_t at = drawn.find("<title>"); at != std::string::npos; at = drawn.find("<title>", at + 1)) {
    std::size_t const begin = drawn.find(": ", at) + 2;
    requests.insert(drawn.substr(begin, drawn.find(' ', begin) - begin));
  }
  std::multiset<std::string> wanted;
  for (unsigned t = 0; t < 24; ++t) {
    bool const edges[] = {t % 6 == 5, t % 6 == 0, t / 6 == 3,
                          t / 6 == 0, false,      false};  // no links beyond them
    for (unsigned d = 0; d < 6; ++d) {
      if (!edges[d]) wanted.insert(std::to_string(run.links[6 * t + d].requests));
    }
    wanted.insert({std::to_string(run.buffers[t].requests), std::to_string(run.registers[t].requests)});
  }
  for (auto const& c : run.controllers) wanted.insert(std::to_string(c.requests));
  wanted.insert(std::to_string(run.interface.requests));
  CHECK(requests == wanted);
  for (char const* const share : {"<0.1%", ">0.1%<", ">1.9%<", ">2.0%<"}) {
    CAPTURE(share);
    CHECK(drawn.find(share[0] == '<' ? "&lt;0.1%" : share) != std::string::npos);
  }
}

TEST_CASE("the error for a heat map that cannot be made is a sentence") {
  CHECK_THROWS_WITH_AS(pgas::scc::write_heat_map({}, "heat.svg"), doctest::Contains("no run has had a clock"),
                       pgas::error);
  with_options const chosen(timed(pgas::scc::formulas_533));
  pgas::run<backend>(2, [](auto& team) { team.barrier(); });
  CHECK_THROWS_WITH_AS(pgas::scc::write_heat_map(backend::last_traffic(), "/no folder/heat.svg"),
                       doctest::Contains("'/no folder/heat.svg' cannot be written"), pgas::error);
}
