// SPDX-License-Identifier: BSL-1.0
// The emulated chip itself: its caches, buffer, tables, turns and oracle behave as documented. The
// conformance suites run the library on it.
// test: only addresses, lines, unit chip
#include <pgas/backends/scc.hpp>
#include <pgas/machines/scc/shrink.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/chip.hpp"

namespace {

using namespace emulated;
using namespace std::chrono_literals;
using emulated::load;  // beside the overloads below
using emulated::store;
using pgas::word;
using pgas::detail::job;
using pgas::detail::scc::system_address;
using pgas::scc::counters;
using pgas::scc::decisions;
using pgas::scc::dice;
using pgas::scc::scheduling;
using pgas::scc::switch_point;

// ---- helpers ---------------------------------------------------------------------------------------

constexpr physical_address l1_stride = 4096;   // lines at this distance share a set of L1
constexpr physical_address l2_stride = 65536;  // lines at this distance also share a set of L2
constexpr std::size_t l2_bytes = 262144;

/// The value in memory, regardless of the caches.
number in_memory(chip& c, system_address at) {
  number value = 0;
  std::memcpy(&value, c.dram().host(at), sizeof value);
  return value;
}
void set_memory(chip& c, system_address at, number value) {
  std::memcpy(c.dram().host(at), &value, sizeof value);
}
void fill_memory_line(chip& c, system_address at, number value) {
  for (std::size_t i = 0; i < line_bytes; i += sizeof value) set_memory(c, at + i, value);
}

/// Runs body(chip, core 0) on core 0 of two; the other core does nothing of its own.
template <class Body>
void on_core(options const& how, Body const& body) {
  on_chip(2, how, [&](chip& c, rank_t rank) {
    if (rank == 0) body(c, c.at(0));
  });
}
template <class Body>
void on_core(Body const& body) {
  on_core(options{}, body);
}

/// The error that act() throws.
template <class Act>
pgas::error error_of(Act&& act) {
  try {
    act();
  } catch (pgas::error const& e) {
    return e;
  }
  return {errc::unsupported, -1, "nothing was thrown"};
}
bool has(pgas::error const& e, errc code) { return e.code() == pgas::make_error_code(code); }
bool contains(pgas::error const& e, std::string_view piece) {
  return std::string_view(e.what()).find(piece) != std::string_view::npos;
}

/// A row of the table at page_type.
struct kind {
  page_type type;
  char const* name;
  bool in_l1, in_l2, tagged;
  bool combined;  // a store that misses goes to the buffer
};
constexpr std::array kinds{
    kind{page_type::dcm, "dcm", true, true, false, false},
    kind{page_type::ncm, "ncm", false, false, false, false},
    kind{page_type::ncm_wcb, "ncm_wcb", false, false, false, true},
    kind{page_type::mpbt_wb, "mpbt_wb", true, false, true, true},
    kind{page_type::mpbt_wt, "mpbt_wt", true, false, true, true},
};
template <class Use>
void for_each_kind(Use const& use) {
  for (kind const& k : kinds) {
    std::string const type = k.name;
    CAPTURE(type);
    use(k);
  }
}

// ---- page types ------------------------------------------------------------------------------------

TEST_CASE("a load fills the caches that its page's type names, with the whole line") {
  for_each_kind([](kind const& k) {
    on_core([&](chip& c, core& me) {
      fill_memory_line(c, 64, 7);
      CHECK(load(me, k.type, 64) == 7);
      CHECK(me.count().fills == (k.in_l1 ? 1 : 0));
      CHECK(me.count().reads == (k.in_l1 ? 0 : 1));
      fill_memory_line(c, 64, 8);
      CHECK(load(me, k.type, 64) == (k.in_l1 ? 7 : 8));
      CHECK(load(me, k.type, 92) == (k.in_l1 ? 7 : 8));  // the line's last word
      CHECK(me.count().l1_hits == (k.in_l1 ? 2 : 0));
      CHECK(load(me, k.type, 96) == 0);  // the next line
      CHECK(me.count().l1_hits == (k.in_l1 ? 2 : 0));
    });
  });
}

TEST_CASE("a line is tagged in L1, and is in L2, if its page's type says so") {
  for_each_kind([](kind const& k) {
    on_core([&](chip& c, core& me) {
      fill_memory_line(c, 0, 7);
      CHECK(load(me, k.type, 0) == 7);
      fill_memory_line(c, 0, 8);
      me.drop_tagged();
      CHECK(load(me, k.type, 0) == (k.in_l1 && !k.tagged ? 7 : 8));
      fill_memory_line(c, 0, 9);
      me.invalidate_l1();
      CHECK(load(me, k.type, 0) == (k.in_l2 ? 7 : 9));
      CHECK(me.count().l2_hits == (k.in_l2 ? 1 : 0));
    });
  });
}

TEST_CASE("a store that misses allocates in no cache: it goes to memory or to the buffer") {
  for_each_kind([](kind const& k) {
    on_core([&](chip& c, core& me) {
      fill_memory_line(c, 0, 7);
      store(me, k.type, 4, 9);
      CHECK(in_memory(c, 4) == (k.combined ? 7 : 9));
      CHECK(me.combines(4) == k.combined);
      CHECK(me.count().writes == (k.combined ? 0 : 1));
      CHECK(me.count().fills == 0);
      set_memory(c, 8, 5);
      CHECK(load(me, k.type, 8) == 5);  // nothing is cached
      CHECK(me.count().l1_hits + me.count().l2_hits == 0);
      CHECK(load(me, k.type, 4) == 9);  // and the core sees its own store
      CHECK(in_memory(c, 4) == 9);
    });
  });
}

TEST_CASE("a store to a cached line of a dcm page stays in L1") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    store(me, page_type::dcm, 4, 9);
    CHECK(me.count().l1_hits == 1);
    CHECK(in_memory(c, 4) == 7);
    CHECK(!me.combines(4));
    core& other = c.at(1);
    unsigned const entry = other.map(c.dram().first_page(0));
    CHECK(load(other, page_type::ncm, static_cast<physical_address>(entry * page_bytes) + 4) == 7);
    CHECK(load(me, page_type::dcm, 4) == 9);
    me.write_back_l1();
    me.flush_l2(0, line_bytes);
    CHECK(load(other, page_type::ncm, static_cast<physical_address>(entry * page_bytes) + 4) == 9);
  });
}

TEST_CASE("a store to a line of a dcm page that only L2 holds stays in L2 and does not come to L1") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    me.invalidate_l1();
    store(me, page_type::dcm, 0, 9);
    CHECK(me.count().l1_hits == 0);
    CHECK(me.count().l2_hits == 1);
    CHECK(in_memory(c, 0) == 7);
    me.invalidate_l1();  // would lose the line
    CHECK(load(me, page_type::dcm, 0) == 9);
    CHECK(me.count().l2_hits == 2);
    CHECK(me.count().fills == 1);
    me.flush_l2(0, line_bytes);
    CHECK(in_memory(c, 0) == 9);
    CHECK(me.count().write_backs == 1);
  });
}

TEST_CASE("a store to a cached line of a mpbt_wb page reaches neither the buffer nor memory") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::mpbt_wb, 0);
    store(me, page_type::mpbt_wb, 0, 9);
    CHECK(!me.combines(0));
    me.drain();
    CHECK(in_memory(c, 0) == 7);
    CHECK(load(me, page_type::mpbt_wb, 0) == 9);
    me.write_back_l1();  // past L2
    CHECK(in_memory(c, 0) == 9);
  });
}

TEST_CASE("a store to a cached line of a mpbt_wt page changes the line and goes to the buffer") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::mpbt_wt, 0);
    store(me, page_type::mpbt_wt, 0, 9);
    CHECK(me.count().l1_hits == 1);
    CHECK(me.combines(0));
    CHECK(in_memory(c, 0) == 7);
    CHECK(load(me, page_type::mpbt_wt, 0) == 9);
    CHECK(me.count().l1_hits == 2);
    CHECK(me.combines(0));  // the hit did not ask memory
    me.write_back_l1();
    CHECK(me.count().write_backs == 0);  // the line is not modified
    CHECK(in_memory(c, 0) == 7);
    me.drain();
    CHECK(in_memory(c, 0) == 9);
  });
}

TEST_CASE("with the chip's defect, write-through pages are read like uncached ones, and written as before") {
  auto const reads = [](page_type type, bool cached) {
    options how;
    how.through_pages_cached = cached;
    counters seen;
    on_core(how, [&](chip& c, core& me) {
      for (number i = 0; i < 5; ++i) {
        set_memory(c, 0, i);
        CHECK(load(me, type, 0) == (type == page_type::mpbt_wt && cached ? 0 : i));
      }
      store(me, type, 0, 9);
      CHECK(me.combines(0) == (type == page_type::mpbt_wt));
      seen = me.count();
    });
    return seen;
  };
  counters const broken = reads(page_type::mpbt_wt, false);
  CHECK(broken.reads == 5);
  CHECK(broken.reads == reads(page_type::ncm, false).reads);
  CHECK(broken.fills + broken.l1_hits == 0);
  counters const intended = reads(page_type::mpbt_wt, true);
  CHECK(intended.fills == 1);
  CHECK(intended.l1_hits == 5);  // the store, too
  CHECK(intended.reads == 0);
}

TEST_CASE("no cache sees the stores of another core") {
  on_core([](chip& c, core& me) {
    core& other = c.at(1);
    auto const theirs = static_cast<physical_address>(other.map(c.dram().first_page(0)) * page_bytes);
    for (page_type type : {page_type::dcm, page_type::mpbt_wb, page_type::mpbt_wt}) {
      fill_memory_line(c, 0, 7);
      CHECK(load(me, type, 0) == 7);
      store(other, page_type::ncm, theirs, 8);
      CHECK(in_memory(c, 0) == 8);
      CHECK(load(me, type, 0) == 7);
      me.write_back_l1();
      me.flush_l2(0, line_bytes);
      CHECK(load(me, type, 0) == 8);
      me.write_back_l1();
      me.flush_l2(0, line_bytes);
    }
  });
}

// ---- instructions ----------------------------------------------------------------------------------

TEST_CASE("CL1INVMB drops tagged lines only, and loses the modifications of a mpbt_wb page") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 1);
    fill_memory_line(c, 4096, 2);
    fill_memory_line(c, 8192, 3);
    load(me, page_type::dcm, 0);
    store(me, page_type::dcm, 0, 11);
    load(me, page_type::mpbt_wb, 4096);
    store(me, page_type::mpbt_wb, 4096, 12);
    load(me, page_type::mpbt_wt, 8192);
    store(me, page_type::mpbt_wt, 8192, 13);
    me.drop_tagged();
    CHECK(me.count().tagged_drops == 1);
    auto const before = me.count();
    CHECK(load(me, page_type::dcm, 0) == 11);
    CHECK(me.count().l1_hits == before.l1_hits + 1);
    CHECK(load(me, page_type::mpbt_wb, 4096) == 2);
    CHECK(load(me, page_type::mpbt_wt, 8192) == 13);  // from the buffer, through memory
    CHECK(me.count().fills == before.fills + 2);
    me.write_back_l1();
    CHECK(in_memory(c, 4096) == 2);
  });
}

TEST_CASE("CL1INVMB drops the lines of its time and not later ones, at every repetition") {
  on_core([](chip& c, core& me) {
    for (number i = 1; i < 300; ++i) {
      set_memory(c, 0, i);
      CHECK(load(me, page_type::mpbt_wt, 0) == i);
      set_memory(c, 0, 1000);
      CHECK(load(me, page_type::mpbt_wt, 0) == i);
      me.drop_tagged();
    }
  });
}

TEST_CASE("WBINVD empties L1 and leaves the modified lines in L2") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    store(me, page_type::dcm, 0, 9);
    me.write_back_l1();
    CHECK(in_memory(c, 0) == 7);
    CHECK(me.count().write_backs == 0);
    CHECK(load(me, page_type::dcm, 0) == 9);
    CHECK(me.count().l2_hits == 1);
    me.invalidate_l1();
    CHECK(load(me, page_type::dcm, 0) == 9);  // L2 has the line
    me.flush_l2(0, 1);
    CHECK(in_memory(c, 0) == 9);
  });
}

TEST_CASE("WBINVD writes to memory the lines that L2 does not hold") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    me.flush_l2(0, 1);  // does not look into L1
    store(me, page_type::dcm, 0, 9);
    CHECK(me.count().l1_hits == 1);
    me.write_back_l1();
    CHECK(in_memory(c, 0) == 9);
    CHECK(load(me, page_type::dcm, 0) == 9);
    CHECK(me.count().fills == 2);
  });
}

TEST_CASE("INVD loses the modifications in L1") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    for (page_type type : {page_type::dcm, page_type::mpbt_wb}) {
      load(me, type, 0);
      store(me, type, 0, 9);
      me.invalidate_l1();
      CHECK(load(me, type, 0) == 7);
      me.write_back_l1();
      me.flush_l2(0, l2_bytes);
      CHECK(in_memory(c, 0) == 7);
    }
    CHECK(me.count().write_backs == 0);
  });
}

TEST_CASE("the L2 routine writes back and drops the lines that its range touches, and no others") {
  on_core([](chip& c, core& me) {
    constexpr number lines = 10;
    auto const at = [](number i) { return static_cast<physical_address>(i * line_bytes); };
    for (number i = 0; i < lines; ++i) load(me, page_type::dcm, at(i));
    me.write_back_l1();
    for (number i = 0; i < lines; ++i) store(me, page_type::dcm, at(i), 100 + i);
    me.flush_l2(at(3) + 31, 34);  // from the last byte of line 3 to the first of line 5
    CHECK(me.count().l2_lines_flushed == 3);
    CHECK(me.count().write_backs == 3);
    auto const before = me.count();
    for (number i = 0; i < lines; ++i) {
      bool const in_range = i >= 3 && i <= 5;
      CHECK(in_memory(c, at(i)) == (in_range ? 100 + i : 0));
      set_memory(c, at(i), 7);
      CHECK(load(me, page_type::dcm, at(i)) == (in_range ? 7 : 100 + i));
    }
    CHECK(me.count().fills == before.fills + 3);
    CHECK(me.count().l2_hits == before.l2_hits + 7);
  });
}

TEST_CASE("the L2 routine drops everything if its range is as large as L2, and only then") {
  on_core([](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    me.invalidate_l1();
    store(me, page_type::dcm, 0, 9);
    constexpr physical_address elsewhere = 1U << 22U;
    me.flush_l2(elsewhere, l2_bytes - 1);
    CHECK(in_memory(c, 0) == 7);
    CHECK(me.count().l2_lines_flushed == 0);
    me.flush_l2(elsewhere, l2_bytes);
    CHECK(in_memory(c, 0) == 9);
    CHECK(me.count().l2_lines_flushed == 1);
    load(me, page_type::dcm, 0);
    CHECK(me.count().fills == 2);
  });
}

// ---- the write-combining buffer --------------------------------------------------------------------

TEST_CASE("the buffer is pushed by a store to another line, when it is full and by a drain") {
  for (page_type type : {page_type::ncm_wcb, page_type::mpbt_wb, page_type::mpbt_wt}) {
    CAPTURE(static_cast<int>(type));
    on_core([&](chip& c, core& me) {
      store(me, type, 0, 1);
      store(me, type, 8, 2);
      CHECK(me.count().pushes == 0);
      CHECK(in_memory(c, 0) == 0);
      store(me, type, 32, 3);  // another line
      CHECK(me.count().pushes == 1);
      CHECK(in_memory(c, 0) == 1);
      CHECK(in_memory(c, 8) == 2);
      CHECK(in_memory(c, 32) == 0);
      for (physical_address at = 60; at > 32; at -= 4) {
        CHECK(me.count().pushes == 1);
        CHECK(in_memory(c, 32) == 0);
        store(me, type, at, at);
      }
      CHECK(me.count().pushes == 2);  // all 32 bytes are there
      CHECK(in_memory(c, 32) == 3);
      CHECK(in_memory(c, 36) == 36);
      CHECK(in_memory(c, 60) == 60);
      me.drain();
      CHECK(me.count().pushes == 2);  // the buffer was empty
      store(me, type, 0, 9);
      CHECK(in_memory(c, 0) == 1);
      me.drain();
      CHECK(me.count().pushes == 3);
      CHECK(in_memory(c, 0) == 9);
    });
  }
}

TEST_CASE("a push writes the bytes that were stored and no others") {
  on_core([](chip& c, core& me) {
    dice dice(1);
    for (int round = 0; round < 500; ++round) {
      std::array<std::byte, line_bytes> expected{};
      std::byte* const line = c.dram().host(system_address{64});
      std::size_t left = line_bytes - 1;  // not full, or it would be gone
      for (std::size_t stores = 1 + dice.below(4); stores > 0; --stores) {
        std::size_t const first = dice.below(line_bytes);
        std::size_t const count = std::min({1 + dice.below(8), line_bytes - first, left});
        std::vector<std::byte> const bytes(count, static_cast<std::byte>(1 + dice.below(100)));
        me.store(page_type::ncm_wcb, static_cast<physical_address>(64 + first), bytes);
        std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(first));
        left = std::max<std::size_t>(left - count, 1);
        if (left == 1) break;
      }
      // Other cores write all of the line in the meantime.
      std::memset(line, 200, line_bytes);
      me.drain();
      for (std::size_t i = 0; i < line_bytes; ++i) {
        CHECK(line[i] == (expected[i] == std::byte{0} ? std::byte{200} : expected[i]));
      }
    }
  });
}

TEST_CASE("the buffer of one core does not serve another core") {
  on_core([](chip& c, core& me) {
    core& other = c.at(1);
    auto const theirs = static_cast<physical_address>(other.map(c.dram().first_page(0)) * page_bytes);
    store(me, page_type::ncm_wcb, 0, 1);
    store(other, page_type::ncm_wcb, theirs + 4, 2);
    CHECK(load(me, page_type::ncm, 4) == 0);
    CHECK(load(other, page_type::ncm, theirs) == 1);  // the load before pushed the line
    other.drain();
    CHECK(load(me, page_type::ncm, 0) == 1);
    CHECK(load(me, page_type::ncm, 4) == 2);
  });
}

// ---- one core alone --------------------------------------------------------------------------------

/// Compares a random program of one core with a plain array. Its lines share one set, so that they replace
/// each other.
void random_program(kind const& k, options const& how) {
  on_chip(1, how, [&](chip& c, rank_t) {
    core& me = c.at(0);
    constexpr std::size_t places = 7;
    constexpr std::size_t place_bytes = 3 * line_bytes;
    std::array<std::array<std::byte, place_bytes>, places> expected{};
    dice dice(how.seed + 12345);
    auto const at = [](std::size_t place) { return static_cast<physical_address>(place * l2_stride + 64); };
    for (int step = 0; step < 300; ++step) {
      std::size_t const place = dice.below(places);
      std::size_t const first = dice.below(place_bytes);
      std::size_t const count =
          1 + dice.below(std::min<std::size_t>(place_bytes - first, dice.one_in(4) ? 90 : 8));
      auto const here = static_cast<physical_address>(at(place) + first);
      auto const mine = std::span(expected[place]).subspan(first, count);
      switch (dice.below(16)) {
        case 0:
          me.drain();
          break;
        case 1:
          me.write_back_l1();
          break;
        case 2:
          me.flush_l2(here, count);
          break;
        case 3:
          if (k.type != page_type::mpbt_wb) me.drop_tagged();
          break;
        case 4:
          if (k.type != page_type::mpbt_wb && k.type != page_type::dcm) me.invalidate_l1();
          break;
        case 5:
        case 6:
        case 7:
        case 8:
        case 9: {
          for (std::byte& b : mine) b = static_cast<std::byte>(dice.below(256));
          me.store(k.type, here, mine);
          break;
        }
        default: {
          std::vector<std::byte> seen(count);
          me.load(k.type, here, seen);
          if (!std::equal(seen.begin(), seen.end(), mine.begin())) {
            throw std::runtime_error("step " + std::to_string(step) + ": a core does not see its own stores");
          }
        }
      }
    }
    me.drain();
    me.write_back_l1();
    me.flush_l2(0, l2_bytes);
    for (std::size_t place = 0; place < places; ++place) {
      std::byte const* const home = c.dram().host(system_address{at(place)});
      if (!std::equal(expected[place].begin(), expected[place].end(), home)) {
        throw std::runtime_error("memory does not hold the values that the core stored");
      }
    }
  });
}

TEST_CASE("a core sees its own stores in order through any caches, and memory holds them in the end") {
  for_each_kind([](kind const& k) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      options how;
      how.seed = seed;
      if (seed % 2 == 1) how.disturb(seed);
      how.through_pages_cached = seed % 5 != 0;
      CHECK_NOTHROW(random_program(k, how));
    }
  });
}

TEST_CASE("the least recently used line is replaced first, from L1 to L2") {
  on_core([](chip& c, core& me) {
    auto const at = [](number i) { return i * l1_stride; };  // one set of L1, several of L2
    for (number i = 0; i < 5; ++i) set_memory(c, at(i), i);
    for (number i = 0; i < 4; ++i) load(me, page_type::dcm, at(i));
    store(me, page_type::dcm, at(1), 11);
    load(me, page_type::dcm, at(0));
    CHECK(me.count().l1_hits == 2);
    load(me, page_type::dcm, at(4));  // 2 goes
    CHECK(me.count().fills == 5);
    for (number i : {0U, 1U, 3U, 4U}) CHECK(load(me, page_type::dcm, at(i)) == (i == 1 ? 11 : i));
    CHECK(me.count().l1_hits == 6);
    CHECK(me.count().l2_hits == 0);
    CHECK(load(me, page_type::dcm, at(2)) == 2);  // 0 goes
    CHECK(me.count().l2_hits == 1);
    load(me, page_type::dcm, at(0));  // and 1, which is modified, to L2
    CHECK(me.count().l2_hits == 2);
    CHECK(load(me, page_type::dcm, at(1)) == 11);
    CHECK(me.count().l2_hits == 3);
    CHECK(me.count().fills == 5);
    CHECK(me.count().write_backs == 0);
    CHECK(in_memory(c, at(1)) == 1);
  });
}

TEST_CASE("the least recently used line of L2 goes to memory if it was modified") {
  on_core([](chip& c, core& me) {
    auto const at = [](number i) { return i * l2_stride; };
    for (number i = 0; i < 4; ++i) load(me, page_type::dcm, at(i));
    me.invalidate_l1();
    for (number i : {1U, 0U, 2U}) store(me, page_type::dcm, at(i), 10 + i);
    store(me, page_type::dcm, at(3), 13);
    CHECK(me.count().l2_hits == 4);
    CHECK(me.count().write_backs == 0);
    load(me, page_type::dcm, at(4));
    CHECK(me.count().write_backs == 1);
    CHECK(in_memory(c, at(1)) == 11);
    for (number i : {0U, 2U, 3U}) CHECK(in_memory(c, at(i)) == 0);
    load(me, page_type::dcm, at(5));
    CHECK(in_memory(c, at(0)) == 10);
    CHECK(me.count().write_backs == 2);
    for (number i = 6; i < 10; ++i) load(me, page_type::dcm, at(i));
    CHECK(me.count().write_backs == 4);  // unmodified lines are dropped
  });
}

TEST_CASE("a cache holds the lines of a list in order of their last use") {
  pgas::detail::scc::cache<16 * line_bytes, 4> small;  // 4 sets
  std::array<std::vector<number>, 4> recent;           // last used first
  dice dice(3);
  for (int step = 0; step < 20000; ++step) {
    auto const n = static_cast<number>(dice.below(32));
    auto& set = recent[n % 4];
    auto const known = std::find(set.begin(), set.end(), n);
    auto const i = small.find(n);
    CHECK((i != small.none) == (known != set.end()));
    if (known != set.end()) {
      CHECK(small.number(i) == n);
      CHECK(small.bytes(i)[0] == static_cast<std::byte>(n));
      std::rotate(set.begin(), known, known + 1);
      continue;
    }
    auto const place = small.place_for(n);
    if (set.size() == 4) {
      CHECK(small.holds(place));
      CHECK(small.number(place) == set.back());
      set.pop_back();
    } else {
      CHECK(!small.holds(place));
    }
    pgas::detail::scc::line bytes{};
    bytes[0] = static_cast<std::byte>(n);
    small.put(place, n, bytes, false);
    set.insert(set.begin(), n);
  }
}

// ---- the look-up table -----------------------------------------------------------------------------

TEST_CASE("an entry that is changed without a flush sends the old page's modified line to the new page") {
  on_core([](chip& c, core& me) {
    constexpr unsigned entry = 140;
    auto const at = static_cast<physical_address>(entry * page_bytes);
    auto const first = c.dram().first_page(1);
    auto const one = system_address{first} * page_bytes;
    auto const two = one + page_bytes;
    set_memory(c, one, 1);
    set_memory(c, two, 2);
    me.point_entry(entry, first);
    CHECK(load(me, page_type::dcm, at) == 1);
    store(me, page_type::dcm, at, 9);
    me.point_entry(entry, first + 1);
    CHECK(load(me, page_type::dcm, at) == 9);  // of the old page
    me.write_back_l1();
    me.flush_l2(at, line_bytes);
    CHECK(in_memory(c, one) == 1);
    CHECK(in_memory(c, two) == 9);
  });
}

TEST_CASE("map sends every modified line and every combined byte to the page that the program meant") {
  for_each_kind([](kind const& k) {
    options how;
    how.mappable_pages = 1;
    on_core(how, [&](chip& c, core& me) {
      auto const first = c.dram().first_page(1);
      auto const one = system_address{first} * page_bytes;
      auto const two = one + page_bytes;
      auto const at = static_cast<physical_address>(me.map(first) * page_bytes);
      CHECK(load(me, k.type, at) == 0);
      store(me, k.type, at, 9);
      if (k.in_l2) {  // one line in L2 only
        load(me, k.type, at + line_bytes);
        me.write_back_l1();
        store(me, k.type, at + line_bytes, 10);
      }
      CHECK(static_cast<physical_address>(me.map(first + 1) * page_bytes) == at);
      CHECK(me.count().remaps == 2);
      CHECK(in_memory(c, one) == 9);
      CHECK(in_memory(c, one + line_bytes) == (k.in_l2 ? 10 : 0));
      CHECK(load(me, k.type, at) == 0);
      me.drain();
      me.write_back_l1();
      me.flush_l2(0, l2_bytes);
      CHECK(in_memory(c, two) == 0);
    });
  });
}

TEST_CASE("more pages than entries are mapped in turn and keep their contents") {
  for_each_kind([](kind const& k) {
    options how;
    how.mappable_pages = 3;
    on_core(how, [&](chip& c, core& me) {
      constexpr std::size_t pages = 8;
      std::array<number, pages> expected{};
      dice dice(7);
      for (number step = 1; step < 1000; ++step) {
        std::size_t const page = dice.below(pages);
        auto const p = static_cast<pgas::detail::scc::page_number>(c.dram().first_page(1) + page);
        auto const at = static_cast<physical_address>(me.map(p) * page_bytes + 128);
        CHECK(load(me, k.type, at) == expected[page]);
        store(me, k.type, at, expected[page] = step);
        // No other page is in the table twice.
        CHECK(me.physical(system_address{p} * page_bytes + 128) == at);
      }
      CHECK(me.count().remaps > 100);
      me.drain();
      me.write_back_l1();
      me.flush_l2(0, l2_bytes);
      for (std::size_t page = 0; page < pages; ++page) {
        CHECK(in_memory(c, (system_address{c.dram().first_page(1)} + page) * page_bytes + 128) ==
              expected[page]);
      }
    });
  });
}

// ---- turns -----------------------------------------------------------------------------------------

/// The order in which four cores access memory, and the counters of each.
struct course {
  std::vector<rank_t> order;
  std::vector<counters> counted;

  friend bool operator==(course const&, course const&) = default;
};
course course_of(options const& how) {
  course seen;
  on_chip(4, how, [&](chip& c, rank_t rank) {
    core& me = c.at(rank);
    for (number i = 0; i < 200; ++i) {
      load(me, page_type::ncm, 0);
      seen.order.push_back(rank);
      load(me, page_type::dcm, (i * 7 % 50) * l2_stride);
    }
    seen.counted.resize(4);
    seen.counted[static_cast<std::size_t>(rank)] = me.count();
  });
  return seen;
}

TEST_CASE("the same seed gives the same order and the same counters, another seed gives others") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    options how;
    CHECK(course_of(how) == course_of(how));
    how.disturb(seed);
    course const one = course_of(how);
    CHECK(one == course_of(how));
    course const another = course_of(options{how}.disturb(seed + 4));  // of the same kind
    CHECK(one.order != another.order);
    CHECK(one.counted != another.counted);
  }
}

TEST_CASE("hits are no scheduling points, and every access to memory is one") {
  on_core([](chip& c, core& me) {
    auto const points = [&](auto const& act) {
      auto const before = c.turns().points();
      act();
      return c.turns().points() - before;
    };
    CHECK(points([&] { load(me, page_type::dcm, 0); }) == 1);
    CHECK(points([&] {
            for (number i = 0; i < 1000; ++i) {
              load(me, page_type::dcm, 4);
              store(me, page_type::dcm, 8, i);
            }
          }) == 0);
    me.write_back_l1();
    CHECK(points([&] { load(me, page_type::dcm, 0); }) == 0);  // from L2
    me.write_back_l1();
    CHECK(points([&] { store(me, page_type::dcm, 0, 1); }) == 0);  // to L2
    CHECK(points([&] { store(me, page_type::dcm, 64, 1); }) == 1);
    CHECK(points([&] { load(me, page_type::ncm, 0); }) == 1);
    CHECK(points([&] { store(me, page_type::ncm, 0, 1); }) == 1);
    CHECK(points([&] { store(me, page_type::ncm_wcb, 128, 1); }) == 0);
    CHECK(points([&] { store(me, page_type::ncm_wcb, 132, 1); }) == 0);
    CHECK(points([&] { me.drain(); }) == 1);
    CHECK(points([&] { me.drain(); }) == 0);
    CHECK(points([&] { load(me, page_type::mpbt_wt, 4096); }) == 1);
    CHECK(points([&] { load(me, page_type::mpbt_wt, 4096); }) == 0);
  });
}

TEST_CASE("a core keeps its turn until its next scheduling point") {
  options how;
  how.schedule = scheduling::random;
  for (how.seed = 0; how.seed < 20; ++how.seed) {
    rank_t inside = -1;
    on_chip(3, how, [&](chip& c, rank_t rank) {
      core& me = c.at(rank);
      load(me, page_type::dcm, 0);
      for (int i = 0; i < 50; ++i) {
        CHECK(inside == -1);
        inside = rank;
        for (int hit = 0; hit < 100; ++hit) load(me, page_type::dcm, 0);
        CHECK(inside == rank);
        inside = -1;
        load(me, page_type::ncm, 0);
      }
    });
  }
}

/// Runs body(chip, rank) in every order that the search finds, and calls each() after a run. Returns the
/// number of runs.
template <class Body, class Each>
int search(std::size_t most_switches, Body const& body, Each const& each) {
  decisions script;
  script.most_switches = most_switches;
  options how;
  how.schedule = scheduling::script;
  how.script = &script;
  int runs = 0;
  do {
    ++runs;
    on_chip(2, how, body);
    each();
  } while (runs < 10000 && script.next());
  return runs;
}

TEST_CASE("a search visits every interleaving of two fibers with three points each, and each once") {
  std::string order;
  std::set<std::string> orders;
  int const runs = search(
      ~std::size_t{0},
      [&](chip& c, rank_t rank) {
        for (int piece = 0; piece < 4; ++piece) {
          if (piece != 0) c.turns().point();
          order += static_cast<char>('0' + rank);
        }
      },
      [&] { orders.insert(std::exchange(order, "")); });
  CHECK(runs == 70);  // 4 of 8 pieces belong to the first fiber
  CHECK(orders.size() == 70);
}

TEST_CASE("a search with a bound visits the orders with at most that many switches, and each once") {
  for (std::size_t bound : {0U, 1U, 2U}) {
    std::string order;
    std::set<std::string> orders;
    int const runs = search(
        bound,
        [&](chip& c, rank_t rank) {
          for (int piece = 0; piece < 4; ++piece) {
            if (piece != 0) c.turns().point();
            order += static_cast<char>('0' + rank);
          }
        },
        [&] { orders.insert(std::exchange(order, "")); });
    // Each piece may be cut at three places: once in the first fiber, then also in the second.
    CHECK(runs == static_cast<int>(std::array{2, 2 + 2 * 3, 2 + 2 * 3 + 2 * 9}[bound]));
    CHECK(orders.size() == static_cast<std::size_t>(runs));
  }
}

TEST_CASE("a search finds the lost update of an unprotected read-modify-write, with one switch") {
  for (std::size_t bound : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
    std::set<number> sums;
    number sum = 0;
    search(
        bound,
        [&](chip& c, rank_t rank) {
          core& me = c.at(rank);
          auto const first = c.dram().first_page(0);
          auto const at =
              rank == 0 ? physical_address{0} : static_cast<physical_address>(me.map(first) * page_bytes);
          number const old = load(me, page_type::ncm, at);
          store(me, page_type::ncm, at, old + 1);
          sum = in_memory(c, 0);
        },
        [&] { sums.insert(sum); });
    CHECK(sums == (bound == 0 ? std::set<number>{2} : std::set<number>{1, 2}));
  }
}

TEST_CASE("a failing run shrinks to a few changes of turns, and needs each of them") {
  // Three cores add to an unprotected word, each after and before much other work.
  auto const loses_an_update = [](options const& how) {
    number sum = 0;
    on_chip(3, how, [&](chip& c, rank_t rank) {
      core& me = c.at(rank);
      auto const shared = static_cast<physical_address>(me.map(c.dram().first_page(0)) * page_bytes);
      auto const else_where = static_cast<physical_address>(shared + 4096 + static_cast<unsigned>(rank) * 64);
      for (number i = 0; i < 6; ++i) store(me, page_type::ncm, else_where, i);
      number const before = load(me, page_type::ncm, shared);
      store(me, page_type::ncm, shared, before + 1);
      for (number i = 0; i < 6; ++i) store(me, page_type::ncm, else_where, i);
      sum = std::max(sum, before + 1);
    });
    return sum != 3;
  };
  int shrunk = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    options how;
    how.disturb(seed);
    std::vector<switch_point> all;
    how.record = &all;
    bool const fails = loses_an_update(how);
    how.record = nullptr;
    auto const switches = pgas::scc::fewest_switches(how, loses_an_update);
    std::string const sentence = pgas::scc::to_string(switches);
    CAPTURE(seed);
    CAPTURE(sentence);
    CHECK(switches.empty() == !fails);
    if (!fails) continue;
    ++shrunk;
    CHECK(switches.size() < all.size());
    CHECK(sentence.find(" gives way to core ") != std::string::npos);
    how.schedule = scheduling::replay;
    how.switches = &switches;
    CHECK(loses_an_update(how));
    for (std::size_t i = 0; i < switches.size(); ++i) {
      auto without = switches;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      how.switches = &without;
      CHECK(!loses_an_update(how));
    }
  }
  CHECK(shrunk >= 3);
}

TEST_CASE("a cell's read-modify-write loses no update in any order") {
  auto const words = pgas::control_words{.slots = 0, .cells = 1};
  std::shared_ptr<pgas::detail::scc::home_words> home;
  std::set<word> sums;
  decisions script;
  options how;
  how.schedule = scheduling::script;
  how.script = &script;
  int runs = 0;
  do {
    home = std::make_shared<pgas::detail::scc::home_words>(2, words);
    auto const j = job::create(2, false);
    auto const c = std::make_shared<chip>(j, how);
    c->turns().run([&](rank_t rank) {
      pgas::detail::run_rank(j.as(rank), [&] {
        pgas::detail::scc_control const control(c, home, {rank, 2}, "test");
        control.cell(0, 0).fetch_add(1, std::memory_order_acq_rel);
      });
    });
    pgas::detail::throw_failure(j);
    sums.insert(home->at(0, 0).value);
    ++runs;
  } while (runs < 10000 && script.next());
  CHECK(runs > 20);
  CHECK(runs < 10000);
  CHECK(sums == std::set<word>{2});
}

// ---- waits and failures ----------------------------------------------------------------------------

/// One rank of a launch.
struct seat {
  backend& b;
  pgas::detail::scc::rank_bootstrap& boot;

  [[nodiscard]] rank_t rank() const { return b.rank(); }
  void all_here() const { boot.fence(); }

  template <class Reserve>
  [[nodiscard]] backend::handle agree(std::string const& key, Reserve const& reserve) const {
    backend::handle handle{};
    if (rank() == 0) {
      handle = reserve();
      boot.put(key, std::as_bytes(std::span(&handle, 1)));
    }
    all_here();
    boot.get(key, std::as_writable_bytes(std::span(&handle, 1)));
    all_here();
    return handle;
  }
  /// Collective: memory with `bytes` bytes a rank.
  [[nodiscard]] backend::segment_type segment(std::size_t bytes) const {
    std::vector<std::size_t> const sizes(static_cast<std::size_t>(b.size()), bytes);
    return b.attach_segment(agree("segment", [&] { return b.reserve_segment(sizes); }), bytes);
  }
  /// Collective: one slot on each rank for each rank.
  [[nodiscard]] backend::control_type words() const {
    pgas::control_words const w{.slots = static_cast<std::size_t>(b.size()), .cells = 0};
    return b.attach_control(agree("words", [&] { return b.reserve_control(w); }), w, "test words");
  }
};

template <class Body>
void launch(rank_t ranks, Body const& body, options const& how = {}) {
  with_options const chosen(how);
  static_cast<void>(backend::launch(ranks, [&](backend b, auto& boot) { body(seat{b, boot}); }));
}

void signal(seat me, backend::control_type& words, rank_t to, word value = 1) {
  words.slot(to, static_cast<std::size_t>(me.rank()), me.rank()).store(value, std::memory_order_release);
}
void await(seat me, backend::control_type& words, rank_t from, word value = 1,
           pgas::time_point deadline = pgas::no_deadline) {
  auto const slot = words.slot(me.rank(), static_cast<std::size_t>(from), from);
  words.wait_until(slot, [&](word seen) { return seen == value; },
                   {.operation = "await", .awaited = pgas::group(&from, 1), .deadline = deadline});
}

TEST_CASE("a deadlock is reported at once, with the rank that each rank waits for") {
  auto const begin = std::chrono::steady_clock::now();
  auto const e = error_of([] {
    launch(3, [](seat me) {
      auto w = me.words();
      if (me.rank() != 2) await(me, w, 1 - me.rank());
    });
  });
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  CHECK(has(e, errc::deadlock));
  CHECK(contains(
      e,
      "rank 0 waits in await (test words) for rank 1; rank 1 waits in await (test words) for rank 0; "
      "rank 2 has returned; none of them can go on"));
}

TEST_CASE("a deadline ends a wait that would never end") {
  auto const begin = std::chrono::steady_clock::now();
  bool saw = false;
  launch(2, [&](seat me) {
    auto w = me.words();
    if (me.rank() == 1) return await(me, w, 0);
    auto const e = error_of([&] { await(me, w, 1, 1, begin + 50ms); });
    saw = has(e, errc::timed_out) &&
          contains(e, "rank 0: await: this rank waited too long (test words) for rank 1");
    signal(me, w, 1);
  });
  CHECK(saw);
  CHECK(std::chrono::steady_clock::now() - begin >= 50ms);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("a deadline also ends a wait while another rank is busy") {
  for (scheduling schedule : {scheduling::turns, scheduling::random, scheduling::priority}) {
    options how;
    how.schedule = schedule;
    bool timed_out = false;
    auto const begin = std::chrono::steady_clock::now();
    launch(
        2,
        [&](seat me) {
          auto w = me.words();
          if (me.rank() == 1) {
            // Polls for a value that comes only after the other rank's wait; gives up in the end.
            while (!timed_out && std::chrono::steady_clock::now() < begin + 5s) me.b.check("poll");
            return;
          }
          timed_out = has(error_of([&] { await(me, w, 1, 1, begin + 50ms); }), errc::timed_out);
        },
        how);
    CHECK(timed_out);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
  }
}

TEST_CASE("an exception of one rank ends the others' waits and is named") {
  int ended = 0;
  auto const e = error_of([&] {
    launch(4, [&](seat me) {
      auto w = me.words();
      if (me.rank() == 2) {
        for (int i = 0; i < 1000; ++i) me.b.check("test");  // until the other ranks wait
        throw std::runtime_error("out of coffee");
      }
      auto const mine = error_of([&] { await(me, w, (me.rank() + 1) % 4); });
      ended += contains(mine, "rank 2 threw: out of coffee") ? 1 : 0;
      throw mine;
    });
  });
  CHECK(ended == 3);
  CHECK(has(e, errc::rank_failed));
  CHECK(e.rank() == 2);
  CHECK(contains(e, "rank 2 threw: out of coffee"));
}

/// Passes scheduling points until another core has had the turn.
void give_turn_away(chip& c) {
  for (auto const before = c.turns().switches(); c.turns().switches() == before;) c.turns().point();
}

TEST_CASE("an exception that is handled on one fiber is not seen by another") {
  bool handling = false;
  bool looked = false;
  on_chip(2, {}, [&](chip& c, rank_t rank) {
    if (rank == 0) {
      try {
        throw 1;
      } catch (int one) {
        handling = true;
        while (!looked) give_turn_away(c);
        CHECK(one == 1);
        CHECK_THROWS_AS(throw, int);  // still the current one
        handling = false;
      }
      CHECK(std::current_exception() == nullptr);
      return;
    }
    while (!handling) give_turn_away(c);
    CHECK(std::current_exception() == nullptr);
    try {
      throw std::string("two");
    } catch (std::string const&) {
      c.turns().point();
      CHECK_THROWS_AS(throw, std::string);
    }
    CHECK(std::current_exception() == nullptr);
    CHECK(handling);
    looked = true;
  });
  CHECK(looked);
}

TEST_CASE("a fiber may be suspended by a destructor during unwinding, without effect on other fibers") {
  bool unwinding = false;
  bool looked = false;
  on_chip(2, {}, [&](chip& c, rank_t rank) {
    struct guard {
      std::function<void()> leave;
      ~guard() { leave(); }
    };
    if (rank == 0) {
      int caught = 0;
      try {
        guard const g{[&] {
          CHECK(std::uncaught_exceptions() == 1);
          unwinding = true;
          while (!looked) give_turn_away(c);
          CHECK(std::uncaught_exceptions() == 1);
          unwinding = false;
        }};
        throw 7;
      } catch (int i) {
        caught = i;
      }
      CHECK(caught == 7);
      CHECK(std::uncaught_exceptions() == 0);
      return;
    }
    while (!unwinding) give_turn_away(c);
    CHECK(std::uncaught_exceptions() == 0);
    try {
      guard const g{[&] {
        CHECK(std::uncaught_exceptions() == 1);
        c.turns().point();
      }};
      throw std::string("mine");
    } catch (std::string const& mine) {
      CHECK(mine == "mine");
    }
    CHECK(unwinding);
    looked = true;
  });
  CHECK(looked);
}

// ---- memory ----------------------------------------------------------------------------------------

TEST_CASE(
    "a part larger than a core's memory is refused with a sentence, and the reserved memory is returned") {
  options how;
  how.own_pages = 2;
  launch(
      2,
      [](seat me) {
        if (me.rank() != 0) return;
        std::array<std::size_t, 2> const too_large{64, 2 * page_bytes + 1};
        auto const e = error_of([&] { static_cast<void>(me.b.reserve_segment(too_large)); });
        CHECK(has(e, errc::no_space));
        CHECK(contains(e, "33554433 bytes were asked for: a core of the chip has only 33554432"));
        std::array<std::size_t, 2> const all{2 * page_bytes, 2 * page_bytes};
        CHECK_NOTHROW(static_cast<void>(me.b.reserve_segment(all)));
        std::array<std::size_t, 2> const more{0, 1};
        auto const full = error_of([&] { static_cast<void>(me.b.reserve_segment(more)); });
        CHECK(has(full, errc::no_space));
        CHECK(contains(full, "no gap in the memory of core 1 is that large"));
      },
      how);
}

TEST_CASE(
    "three mailboxes of 17 ranks fill the message passing buffers; the next is refused with a sentence") {
  launch(17, [](seat me) {
    if (me.rank() != 0) return;
    for (int i = 0; i < 3; ++i) CHECK_NOTHROW(static_cast<void>(me.b.reserve_mailbox()));
    auto const e = error_of([&] { static_cast<void>(me.b.reserve_mailbox()); });
    CHECK(has(e, errc::no_space));
    CHECK(contains(
        e, "2720 bytes of the message passing buffer of core 0 were asked for: of its 8192 fewer are left"));
  });
}

TEST_CASE("a mailbox that finds no room at one core takes none at the others") {
  launch(2, [](seat me) {
    if (me.rank() != 0) return;
    std::vector<pgas::detail::scc::home_sections*> none;
    std::array<rank_t, 1> const first{0};
    auto const alone = me.b.sub_team(first, 0);
    std::vector<std::uint64_t> boxes;
    for (int i = 0; i < 50; ++i) static_cast<void>(alone.reserve_mailbox());
    for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(static_cast<void>(me.b.reserve_mailbox()), pgas::error);
    CHECK_NOTHROW(static_cast<void>(alone.reserve_mailbox()));
    // The reverse: refusals by core 1 must not use up the room at core 0.
    std::array<rank_t, 1> const second{1};
    auto const other = me.b.sub_team(second, 0);
    for (int i = 0; i < 51; ++i) CHECK_NOTHROW(static_cast<void>(other.reserve_mailbox()));
  });
  launch(2, [](seat me) {
    if (me.rank() != 0) return;
    std::array<rank_t, 1> const first{0};
    std::array<rank_t, 1> const second{1};
    auto const other = me.b.sub_team(second, 0);
    for (int i = 0; i < 51; ++i) static_cast<void>(other.reserve_mailbox());
    CHECK_THROWS_AS(static_cast<void>(me.b.reserve_mailbox()), pgas::error);
    auto const alone = me.b.sub_team(first, 0);
    for (int i = 0; i < 51; ++i) CHECK_NOTHROW(static_cast<void>(alone.reserve_mailbox()));
  });
}

TEST_CASE("48 ranks run, and a 49th is refused with a sentence") {
  int ran = 0;
  launch(48, [&](seat) { ++ran; });
  CHECK(ran == 48);
  auto const e = error_of([&] { launch(49, [&](seat) { ++ran; }); });
  CHECK(has(e, errc::invalid_argument));
  CHECK(contains(e, "the chip has 48 cores, and 49 ranks were asked for"));
  CHECK(ran == 48);
}

number load(backend::segment_type& s, pgas::location at) {
  number value = 0;
  s.load(at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
number load_tagged(backend::segment_type& s, pgas::location at) {
  number value = 0;
  s.load_tagged(at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
number get(backend::segment_type& s, pgas::location at) {
  number value = 0;
  s.get(at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
void store(backend::segment_type& s, pgas::location at, number value) {
  s.store(at, std::as_bytes(std::span(&value, 1)));
}
void store_through(backend::segment_type& s, pgas::location at, number value) {
  s.store_through(at, std::as_bytes(std::span(&value, 1)));
}
void put(backend::segment_type& s, pgas::location at, number value) {
  s.put(at, std::as_bytes(std::span(&value, 1)));
}

TEST_CASE("memory that is reserved again is zero, even if caches and buffers held the old contents") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options how;
    how.check = false;
    if (seed > 0) how.disturb(seed);
    launch(
        2,
        [](seat me) {
          for (int round = 0; round < 4; ++round) {
            rank_t const other = 1 - me.rank();
            {
              auto s = me.segment(1U << 14U);
              for (std::size_t at = 0; at < 512; at += 32) {
                CHECK(load(s, {me.rank(), at}) == 0);
                CHECK(load(s, {other, at}) == 0);
                CHECK(get(s, {me.rank(), at}) == 0);
                CHECK(get(s, {other, at}) == 0);
                CHECK(load_tagged(s, {me.rank(), 4096 + at}) == 0);
                CHECK(load_tagged(s, {other, 4096 + at}) == 0);
              }
              me.all_here();
              // No rank writes to another's line, since a line is written back whole.
              std::size_t const mine = static_cast<std::size_t>(me.rank()) * 128;
              for (rank_t to : {0, 1}) {
                store(s, {to, mine}, 1);
                store_through(s, {to, 4096 + mine}, 2);
                put(s, {to, 8192 + mine}, 3);
                put(s, {to, mine + 64}, 4);
                load(s, {to, mine + 64});
              }
              me.all_here();
              if (me.rank() == 1) put(s, {0, 256}, 5);  // stays in the buffer
            }
            me.all_here();
          }
        },
        how);
  }
}

TEST_CASE("the adversary does not fetch lines again that a core has forgotten") {
  options how;
  how.against.fill = 1;
  on_core(how, [](chip& c, core& me) {
    fill_memory_line(c, 0, 7);
    load(me, page_type::dcm, 0);
    me.forget(0, 4096);
    for (int i = 0; i < 100; ++i) load(me, page_type::ncm, 1U << 20U);
    fill_memory_line(c, 0, 0);
    CHECK(load(me, page_type::dcm, 0) == 0);
  });
}

TEST_CASE("an uncached store does not overtake buffered bytes of its line") {
  for (page_type type : {page_type::ncm, page_type::dcm}) {
    on_core([&](chip& c, core& me) {
      store(me, page_type::ncm_wcb, 0, 1);
      store(me, type, 0, 2);
      me.drain();
      CHECK(in_memory(c, 0) == 2);
      store(me, page_type::ncm_wcb, 0, 3);
      store(me, type, 32, 4);  // a store to another line may
      CHECK(in_memory(c, 0) == 2);
    });
  }
}

// ---- interrupts ------------------------------------------------------------------------------------

/// The number of further instructions that a core begins after it has interrupted itself, before it takes the
/// interrupt.
int taken_after(options const& how) {
  int done = 0;
  int at = -1;
  launch(
      1,
      [&](seat me) {
        auto const pins = me.b.interrupts();
        auto const handler = pins.on_interrupt([&] { at = done; });
        auto w = me.words();
        auto const slot = w.slot(0, 0, 0);
        pins.raise(0);
        for (; done < 50; ++done) static_cast<void>(slot.load(std::memory_order_relaxed));
        pins.sleep_until([&] { return at >= 0; });
      },
      how);
  return at;
}

TEST_CASE(
    "an interrupt is taken before the next instruction or, against an adversary, before any later one") {
  options how;
  CHECK(taken_after(how) == 0);
  how.against.defer = 8;
  std::set<int> places;
  for (how.seed = 0; how.seed < 200; ++how.seed) {
    int const place = taken_after(how);
    CHECK(place == taken_after(how));
    places.insert(place);
  }
  CHECK(places.size() > 15);
  CHECK(*places.begin() == 0);
}

/// The activity of a core when an interrupt comes; `ends` is the action that ends it, after the interrupt has
/// been handled.
struct activity {
  char const* name;
  std::function<void(seat, backend::control_type&, std::function<bool()> const& ends)> act;
};
void wait_for_both(seat me, backend::control_type& w, std::function<bool()> const&) {
  std::vector both{w.slot(0, 0, 0), w.slot(0, 1, 1)};
  w.wait_any(std::span(both), [](word seen) { return seen == 1; }, {.operation = "await"});
  CHECK(me.rank() == 0);
}

TEST_CASE("an interrupt reaches its core during any activity") {
  std::array const activities{
      activity{"sleeps", [](seat me, auto&, auto const& ends) { me.b.interrupts().sleep_until(ends); }},
      activity{"waits for a word", [](seat me, auto& w, auto const&) { await(me, w, 1); }},
      activity{"waits for one of two words", wait_for_both},
      activity{"computes",
               [](seat me, auto&, auto const& ends) {
                 while (!ends()) {
                   me.b.charge(100);
                   me.b.check("test");  // without a clock, time does not pass the turn on
                 }
               }},
  };
  for (auto const& a : activities) {
    std::string const name = a.name;
    CAPTURE(name);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      CAPTURE(seed);
      options how;
      if (seed != 0) how.disturb(seed);
      if (seed > 8) how.clock = &pgas::scc::formulas_533;
      bool handled = false;
      launch(
          2,
          [&](seat me) {
            auto w = me.words();
            auto const pins = me.b.interrupts();
            if (me.rank() == 0) {
              auto const handler = pins.on_interrupt([&] { handled = true; });
              a.act(me, w, [&] { return handled; });
              CHECK(handled);
            } else {
              me.b.charge(1000);
              pins.raise(0);
              while (!handled) me.b.check("test");
              signal(me, w, 0);
            }
          },
          how);
      CHECK(handled);
    }
  }
}

TEST_CASE("interrupts before the first is taken merge into one, and a later one is separate") {
  launch(2, [](seat me) {
    auto w = me.words();
    auto const pins = me.b.interrupts();
    if (me.rank() == 1) {
      for (int i = 0; i < 3; ++i) pins.raise(0);
      signal(me, w, 0, 1);
      await(me, w, 0, 1);
      pins.raise(0);
      signal(me, w, 0, 2);
      return;
    }
    await(me, w, 1, 1);
    CHECK(pins.taken() == 0);  // there was no handler
    int calls = 0;
    auto const handler = pins.on_interrupt([&] { ++calls; });
    signal(me, w, 1, 1);
    await(me, w, 1, 2);
    CHECK(calls == 2);
    CHECK(pins.taken() == 2);
  });
}

TEST_CASE("a handler is not interrupted: further interrupts are taken after it") {
  launch(1, [](seat me) {
    auto w = me.words();
    auto const slot = w.slot(0, 0, 0);
    auto const pins = me.b.interrupts();
    std::string course;
    auto const handler = pins.on_interrupt([&] {
      course += '(';
      if (course.size() == 1) pins.raise(0);
      static_cast<void>(slot.load(std::memory_order_relaxed));
      course += ')';
    });
    pins.raise(0);
    static_cast<void>(slot.load(std::memory_order_relaxed));
    CHECK(course == "()()");
  });
}

TEST_CASE("an exception of a handler leaves the interrupted call, and the core can be interrupted again") {
  launch(2, [](seat me) {
    auto w = me.words();
    auto const pins = me.b.interrupts();
    if (me.rank() == 1) {
      pins.raise(0);
      await(me, w, 0);
      pins.raise(0);
      signal(me, w, 0, 2);
      return;
    }
    bool throws = true;
    auto const handler = pins.on_interrupt([&] {
      if (std::exchange(throws, false)) throw std::runtime_error("seen");
    });
    CHECK_THROWS_WITH(await(me, w, 1, 2), "seen");
    signal(me, w, 1);
    await(me, w, 1, 2);
    CHECK(pins.taken() == 2);
  });
}

TEST_CASE("an interrupt overtakes a store that is still in the write-combining buffer") {
  for (bool drains : {false, true}) {
    CAPTURE(drains);
    number seen = 99;
    on_chip(2, options{}, [&](chip& c, rank_t rank) {
      auto const at =
          static_cast<physical_address>((pgas::detail::scc::lookup_table::first_buffer + 1) * page_bytes);
      core& me = c.at(rank);
      auto& pin = c.pin_of(1);
      if (rank == 0) {
        store(me, page_type::mpbt_wt, at, 7);
        if (drains) me.drain();
        c.reach(0, pgas::detail::scc::station::registers_of(1), pgas::detail::scc::asks::write_word);
        pin.raise(0);
        return;
      }
      pgas::detail::scc::interrupt_pin::handler const look = [&] { seen = load(me, page_type::ncm, at); };
      pin.handle_by(&look);
      pin.sleep_until([&] { return pin.taken() == 1; }, {.operation = "sleep"},
                      pgas::detail::team_ranks(1, 2));
      pin.handle_by(nullptr);
    });
    CHECK(seen == (drains ? 7 : 0));
  }
}

TEST_CASE("the oracle: an interrupt orders the accesses before it, and flushes nothing") {
  auto const put_and_interrupt = [](bool flushes) {
    return error_of([&] {
      launch(2, [&](seat me) {
        auto s = me.segment(4096);
        auto const pins = me.b.interrupts();
        auto const handler = pins.on_interrupt([] {});
        auto const await_one = [&] { pins.sleep_until([&] { return pins.taken() == 1; }); };
        if (me.rank() == 0) {
          put(s, {1, 16}, 5);
          if (flushes) s.flush(1);
          pins.raise(1);
          await_one();
        } else {
          await_one();
          number const seen = get(s, {1, 16});
          CHECK(seen == 5);
          pins.raise(0);
        }
      });
    });
  };
  CHECK(contains(put_and_interrupt(false), "rank 0 did not drain its stores before it signalled"));
  CHECK(contains(put_and_interrupt(true), "nothing was thrown"));
}

TEST_CASE("a sleeping core misses no interrupt, in any order") {
  int const runs = search(
      ~std::size_t{0},
      [](chip& c, rank_t rank) {
        core& me = c.at(rank);
        auto& pin = c.pin_of(0);
        if (rank == 1) {
          store(me, page_type::ncm,
                static_cast<physical_address>(me.map(c.dram().first_page(0)) * page_bytes), 1);
          c.reach(1, pgas::detail::scc::station::registers_of(0), pgas::detail::scc::asks::write_word);
          pin.raise(1);
          return;
        }
        pgas::detail::scc::interrupt_pin::handler const nothing = [] {};
        pin.handle_by(&nothing);
        pin.sleep_until([&] { return load(me, page_type::ncm, 0) == 1; }, {.operation = "sleep"},
                        pgas::detail::team_ranks(0, 2));
        pin.handle_by(nullptr);
      },
      [] {});
  CHECK(runs > 5);
}

TEST_CASE("the report of a deadlock names a core that sleeps for ever") {
  auto const e = error_of([] {
    launch(3, [](seat me) {
      auto const pins = me.b.interrupts();
      auto const handler = pins.on_interrupt([] {});
      if (me.rank() == 0) pins.sleep_until([] { return false; });
      std::array const from{rank_t{0}};
      if (me.rank() == 1) pins.sleep_until([] { return false; }, from);
    });
  });
  CHECK(has(e, errc::deadlock));
  CHECK(contains(
      e,
      "rank 0 waits in sleep (interrupt) for rank 1,2; rank 1 waits in sleep (interrupt) for rank 0; "
      "rank 2 has returned; none of them can go on"));
}

// ---- the oracle ------------------------------------------------------------------------------------

/// A rank's number, bytes and line as reports name them.
bool names_lines(pgas::error const& e) {
  // Without the tool that finds lines, an address stands for the line.
  return contains(e, "scc_test.cpp:") || contains(e, "+0x");
}

/// The oracle's report of two ranks: the first writes and signals, then the second reads.
template <class Before, class Write, class Read>
pgas::error said(Before const& before, Write const& write, Read const& read) {
  return error_of([&] {
    launch(2, [&](seat me) {
      auto s = me.segment(4096);
      auto w = me.words();
      before(s, me.rank());
      me.all_here();
      if (me.rank() == 0) {
        write(s);
        signal(me, w, 1);
        await(me, w, 1);
      } else {
        await(me, w, 0);
        read(s);
        signal(me, w, 0);
      }
    });
  });
}

TEST_CASE("the oracle: it reports a copy that its reader did not drop") {
  auto const before = [](auto& s, rank_t rank) {
    if (rank == 1) load(s, {0, 40});
  };
  auto const write = [](auto& s) {
    put(s, {0, 40}, 0x01000000);  // the last byte changes
    s.flush(0);
  };
  auto const e = said(before, write, [](auto& s) { load(s, {0, 40}); });
  CHECK(has(e, errc::stale_copy));
  CHECK(contains(e, "rank 1 reads byte 43 of rank 0's part of memory 0 at "));
  CHECK(contains(e, "finds an old value; rank 0 wrote it last, at "));
  CHECK(contains(e, "rank 1 did not drop its copy after it was signalled, last in await"));
  CHECK(names_lines(e));
  CHECK(e.rank() == 1);
  auto const right = said(before, write, [](auto& s) {
    s.drop({0, 40}, 4);
    CHECK(load(s, {0, 40}) == 0x01000000);
  });
  CHECK(contains(right, "nothing was thrown"));
}

TEST_CASE("the oracle: it reports a copy that its writer never cleaned") {
  auto const before = [](auto& s, rank_t rank) {
    if (rank == 0) load(s, {1, 8});
  };
  auto const read = [](auto& s) {
    number const seen = get(s, {1, 8});
    CHECK(seen == 5);
  };
  auto const e = said(
      before,
      [](auto& s) {
        store(s, {1, 8}, 5);
      },
      read);
  CHECK(has(e, errc::stale_copy));
  CHECK(contains(e, "rank 1 reads byte 8 of rank 1's part of memory 0"));
  CHECK(contains(e, "rank 0 never cleaned it before it signalled: it is still in its cache"));
  CHECK(names_lines(e));
  auto const clean = [](auto& s) {
    store(s, {1, 8}, 5);
    s.clean({1, 8}, 4);
    s.drain_stores();
  };
  CHECK(contains(said(before, clean, read), "nothing was thrown"));
}

TEST_CASE("the oracle: it reports stores that their writer did not drain") {
  auto const nothing = [](auto&, rank_t) {};
  auto const read = [](auto& s) {
    number const seen = get(s, {1, 16});
    CHECK(seen == 5);
  };
  auto const e = said(
      nothing,
      [](auto& s) {
        put(s, {1, 16}, 5);
      },
      read);
  CHECK(has(e, errc::stale_copy));
  CHECK(contains(e, "rank 1 reads byte 16 of rank 1's part"));
  CHECK(contains(
      e, "rank 0 did not drain its stores before it signalled: it is still in its write-combining buffer"));
  auto const drained = [](auto& s) {
    put(s, {1, 16}, 5);
    s.flush(1);
  };
  CHECK(contains(said(nothing, drained, read), "nothing was thrown"));
}

TEST_CASE("the oracle: it reports a value that was lost everywhere") {
  auto const before = [](auto& s, rank_t rank) {
    if (rank == 0) load(s, {1, 8});
  };
  auto const e = said(
      before,
      [](auto& s) {
        store(s, {1, 8}, 5);
        s.on_core().invalidate_l1();
      },
      [](auto& s) {
        get(s, {1, 8});
      });
  CHECK(has(e, errc::stale_copy));
  CHECK(contains(e, "it is in no cache and not in memory"));
}

/// The oracle's report of two ranks, when the second acts after the first but the program does not order
/// them.
template <class First, class Second>
pgas::error said_unordered(First const& first, Second const& second) {
  bool done = false;
  return error_of([&] {
    launch(2, [&](seat me) {
      auto s = me.segment(4096);
      me.all_here();
      if (me.rank() == 0) {
        first(s);
        done = true;
        return;
      }
      while (!done) me.b.check("test");
      second(s);
    });
  });
}

TEST_CASE("the oracle: it reports a read and a write that race with a write") {
  auto const first = [](auto& s) {
    put(s, {0, 4}, 5);
    s.flush(0);
  };
  auto const reads = said_unordered(first, [](auto& s) { get(s, {0, 4}); });
  CHECK(has(reads, errc::race));
  CHECK(contains(reads, "rank 1 reads byte 4 of rank 0's part of memory 0 at "));
  CHECK(contains(reads, "unordered with the write of rank 0 at "));
  CHECK(names_lines(reads));
  auto const writes = said_unordered(first, [](auto& s) { put(s, {0, 4}, 6); });
  CHECK(has(writes, errc::race));
  CHECK(contains(writes, "rank 1 writes byte 4 of rank 0's part"));
  auto const beside = said_unordered(first, [](auto& s) { put(s, {0, 8}, 6); });
  CHECK(contains(beside, "nothing was thrown"));  // a put writes its own bytes only
}

TEST_CASE("the oracle: it reports a write that races with a read before it") {
  auto const write = [](auto& s) { put(s, {0, 4}, 6); };
  auto const of_what_was_written = said_unordered([](auto& s) { get(s, {0, 4}); }, write);
  CHECK(has(of_what_was_written, errc::race));
  CHECK(contains(of_what_was_written, "rank 1 writes byte 4 of rank 0's part of memory 0 at "));
  CHECK(contains(of_what_was_written, "unordered with the read of rank 0 at "));
  CHECK(names_lines(of_what_was_written));
  auto const beside = said_unordered([](auto& s) { get(s, {0, 8}); }, write);
  CHECK(contains(beside, "nothing was thrown"));
  // A later read of other bytes does not make an earlier read later.
  auto const nothing = [](auto&, rank_t) {};
  auto const read_before = [](auto& s) {
    get(s, {0, 4});
    get(s, {0, 12});
  };
  CHECK(contains(said(nothing, read_before, write), "nothing was thrown"));
  // Reads between two signals all come before the second.
  auto const both = error_of([&] {
    launch(2, [&](seat me) {
      auto s = me.segment(4096);
      auto w = me.words();
      for (word round = 1; round <= 3; ++round) {
        if (me.rank() == 0) {
          get(s, {0, 4});
          get(s, {0, 4 * static_cast<std::size_t>(round)});
          signal(me, w, 1, round);
          await(me, w, 1, round);
        } else {
          await(me, w, 0, round);
          put(s, {0, 4}, 6);
          s.flush_all();
          signal(me, w, 0, round);
        }
      }
    });
  });
  CHECK(contains(both, "nothing was thrown"));
}

TEST_CASE("the oracle: it reports two writers of different bytes of a line, one of them through a cache") {
  auto const through_cache = [](auto& s) { store(s, {0, 0}, 5); };
  auto const past_it = [](auto& s) { put(s, {0, 4}, 6); };
  for (auto const& e : {said_unordered(through_cache, past_it), said_unordered(past_it, through_cache)}) {
    CHECK(has(e, errc::race));
    CHECK(contains(e, "rank 1 writes beside byte "));
    CHECK(contains(e, "in one line with what rank 0 wrote at "));
    CHECK(contains(e, "give each writer lines of its own"));
  }
  auto const next_line = said_unordered(through_cache, [](auto& s) { store(s, {0, 32}, 6); });
  CHECK(contains(next_line, "nothing was thrown"));
}

TEST_CASE("the oracle: a slow rank learns no order from a signal later than the one it waits for") {
  // Rank 0 runs first, so the word holds 2 when rank 1 looks. A faster rank 1 would have found 1.
  auto const read_after = [](word awaited) {
    return error_of([&] {
      launch(2, [&](seat me) {
        auto s = me.segment(4096);
        auto w = me.words();
        me.all_here();
        if (me.rank() == 0) {
          signal(me, w, 1, 1);
          put(s, {0, 4}, 5);
          s.flush(0);
          signal(me, w, 1, 2);
          return;
        }
        word const taken =
            w.wait_until(w.slot(1, 0, 0), [&](word seen) { return seen >= awaited; }, {.operation = "await"});
        CHECK(taken == awaited);
        get(s, {0, 4});
      });
    });
  };
  auto const too_early = read_after(1);
  CHECK(has(too_early, errc::race));
  CHECK(contains(too_early, "rank 1 reads byte 4 of rank 0's part of memory 0 at "));
  CHECK(contains(read_after(2), "nothing was thrown"));
}

TEST_CASE("the oracle: a wait takes the earliest value since the rank's last access that ends it") {
  pgas::detail::scc::word_history of;
  auto const is_even = [](word value) { return value % 2 == 0; };
  CHECK(of.earliest(0, is_even).value == 0);
  of.store(1, 10).knowledge.all[3] = 1;
  of.store(2, 20).knowledge.all[3] = 2;
  of.store(3, 30);
  of.store(4, 40).knowledge.all[5] = 4;
  CHECK(of.earliest(9, is_even).value == 0);   // it was there until 10
  CHECK(of.earliest(10, is_even).value == 2);  // a rank that accessed the chip at 10 cannot have seen 0 since
  CHECK(of.earliest(29, is_even).value == 2);
  CHECK(of.earliest(30, is_even).value == 4);
  CHECK(of.earliest(9, [](word value) { return value > 1; }).value == 2);
  CHECK(of.earliest(25, is_even).knowledge.all[3] == 2);
  CHECK(of.latest().knowledge.all[3] == 2);  // a store that releases nothing keeps what the word had
  CHECK(of.latest().knowledge.all[5] == 4);
  for (word value = 5; value < 50; ++value) of.store(value, 10 * value);  // more than are kept
  CHECK(of.earliest(0, is_even).value == 42);
  CHECK(of.latest().value == 49);
}

TEST_CASE("the oracle: it is silent when it is off") {
  options how;
  how.check = false;
  number seen = 1;
  launch(
      2,
      [&](seat me) {
        auto s = me.segment(64);
        if (me.rank() == 1) load(s, {0, 0});
        me.all_here();
        if (me.rank() == 0) put(s, {0, 0}, 5);
        s.flush_all();
        me.all_here();
        if (me.rank() == 1) seen = load(s, {0, 0});
      },
      how);
  CHECK(seen == 0);
}

TEST_CASE("the oracle: it reports nothing in a right program, in any order and against any memory") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    options how;
    if (seed > 0) how.disturb(seed);
    auto const e = error_of([&] {
      launch(
          3,
          [](seat me) {
            auto s = me.segment(1024);
            auto w = me.words();
            rank_t const to = (me.rank() + 1) % 3;
            rank_t const from = (me.rank() + 2) % 3;
            for (word round = 1; round < 20; ++round) {
              auto const value = static_cast<number>(round);
              std::size_t const own = 128 + static_cast<std::size_t>(me.rank()) * 64;
              put(s, {to, 0}, value);  // to the neighbour, past caches
              store_through(s, {to, 32}, value);
              store(s, {0, own}, value);  // to own lines, through caches
              s.clean({0, own}, 4);
              s.drain_stores();
              signal(me, w, to, 2 * round);
              await(me, w, from, 2 * round);
              s.drop({me.rank(), 0}, 64);
              s.drop_tagged();
              CHECK(load(s, {me.rank(), 0}) == value);
              CHECK(load_tagged(s, {me.rank(), 32}) == value);
              CHECK(get(s, {0, 128 + static_cast<std::size_t>(from) * 64}) == value);
              signal(me, w, from, 2 * round + 1);
              await(me, w, to, 2 * round + 1);
            }
          },
          how);
    });
    CHECK(contains(e, "nothing was thrown"));
  }
}

}  // namespace
