// SPDX-License-Identifier: BSL-1.0
// The backend with deliberately incoherent caches: it misbehaves as announced, and every step of write_back
// is needed against it. The conformance suites run the library on it.
// test: only addresses, unit coherence
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <iostream>
#include <optional>
#include <pgas/coherence/coherent.hpp>
#include <pgas/coherence/drop_at_get.hpp>
#include <pgas/coherence/uncached.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/detail/window/window_boundary.hpp>
#include <pgas/vocabulary/op.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/incoherent/backend.hpp"
#include "support/mutated.hpp"

namespace {

using namespace pgas_test::incoherent;
using pgas::boundary_of;
using pgas::control_words;
using pgas::group;
using pgas::hints;
using pgas::window_boundary;
using pgas_test::step;
namespace coherence = pgas::coherence;

using segment_type = backend::segment_type;
using job = pgas::detail::job;

static_assert(pgas::cache_controlled<segment_type>);
static_assert(!pgas::local_segment<segment_type> && !pgas::shared_segment<segment_type>);
static_assert(!pgas::strided_segment<segment_type> &&
              !pgas::atomic_segment<segment_type, int, pgas::op::sum>);
static_assert(coherence::write_back::fits<segment_type> && coherence::drop_at_get::fits<segment_type>);
static_assert(coherence::uncached::fits<segment_type> && !coherence::coherent::fits<segment_type>);

// ---- helpers ---------------------------------------------------------------------------------------

/// One rank of a test: its backend, and its bootstrap to reach the other ranks.
struct seat {
  backend& b;
  job& boot;

  [[nodiscard]] rank_t rank() const { return b.rank(); }
  /// Waits until every rank is here and sees earlier actions. Orders threads; does not make copies agree.
  void all_here() const { boot.fence(); }

  /// Collective: makes memory with `bytes` bytes a rank.
  [[nodiscard]] segment_type segment(std::size_t bytes) const {
    std::vector<std::size_t> const sizes(static_cast<std::size_t>(b.size()), bytes);
    return b.attach_segment(agree("segment", [&] { return b.reserve_segment(sizes); }), bytes);
  }
  /// Collective: makes control words.
  [[nodiscard]] control words(control_words w) const {
    return b.attach_control(agree("control", [&] { return b.reserve_control(w); }), w, "test words");
  }

  template <class Reserve>
  [[nodiscard]] backend::handle agree(std::string_view key, Reserve&& reserve) const {
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
};

template <class Body>
void on_ranks(rank_t ranks, adversary const& a, Body const& body) {
  against const guard(a);
  backend::launch(ranks, [&](backend b, job& boot) { body(seat{b, boot}); });
}

location element(rank_t rank, std::size_t i) { return {rank, i * sizeof(int)}; }
void store(segment_type& s, location at, int value) { s.store(at, std::as_bytes(std::span(&value, 1))); }
void put(segment_type& s, location at, int value) { s.put(at, std::as_bytes(std::span(&value, 1))); }
int load(segment_type& s, location at) {
  int value = 0;
  s.load(at, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
int get(segment_type& s, location at) {
  int value = 0;
  s.get(at, std::as_writable_bytes(std::span(&value, 1)));
  s.flush_local(at.rank);
  return value;
}

/// The text of the exception that `body` throws, or an empty string if it returns.
template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (error const& e) {
    return e.what();
  }
  return {};
}
bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

// ---- copies ----------------------------------------------------------------------------------------

TEST_CASE("a stale copy stays stale until it is dropped and the drop is drained") {
  on_ranks(2, no_adversary, [](seat me) {
    auto s = me.segment(64);
    location const at = element(0, 1);
    if (me.rank() == 1) CHECK(load(s, at) == 0);
    me.all_here();
    if (me.rank() == 0) {
      put(s, at, 7);
      s.flush(0);
    }
    me.all_here();
    if (me.rank() == 1) {
      CHECK(load(s, at) == 0);
      CHECK(get(s, at) == 7);  // a get goes past the copy
      s.drop(at, sizeof(int));
      CHECK(load(s, at) == 0);
      s.drain_stores();
      CHECK(load(s, at) == 0);
      s.drain_all();
      CHECK(load(s, at) == 7);
      CHECK(s.counters().fills == 2);
    }
  });
}

TEST_CASE(
    "a store is visible to its rank at once, and to others once it is cleaned and the clean is drained") {
  on_ranks(2, no_adversary, [](seat me) {
    auto s = me.segment(64);
    location const at = element(0, 3);
    auto const the_other_gets = [&](int expected) {
      me.all_here();
      if (me.rank() == 1) CHECK(get(s, at) == expected);
      me.all_here();
    };
    if (me.rank() == 0) {
      store(s, at, 5);
      CHECK(load(s, at) == 5);
    }
    the_other_gets(0);
    if (me.rank() == 0) s.clean(at, sizeof(int));
    the_other_gets(0);
    if (me.rank() == 0) s.drain_all();  // orders loads, not stores
    the_other_gets(0);
    if (me.rank() == 0) s.drain_stores();
    the_other_gets(5);
    if (me.rank() == 0) CHECK(s.counters().write_backs == 1);
  });
}

TEST_CASE("a clean copy is never written back") {
  on_ranks(2, no_adversary, [](seat me) {
    auto s = me.segment(32);
    if (me.rank() == 1) CHECK(load(s, element(0, 0)) == 0);
    me.all_here();
    if (me.rank() == 0) {
      put(s, element(0, 0), 1);
      s.flush(0);
    }
    me.all_here();
    if (me.rank() == 1) {
      s.clean({0, 0}, 32);
      s.drain_stores();
      s.drop({0, 0}, 32);
      s.drain_all();
      CHECK(s.counters().write_backs == 0);
      CHECK(load(s, element(0, 0)) == 1);
    }
  });
}

TEST_CASE("a modified line written back destroys a neighbour's put") {
  on_ranks(2, no_adversary, [](seat me) {
    auto s = me.segment(64);
    if (me.rank() == 0) store(s, element(0, 0), 1);
    me.all_here();
    if (me.rank() == 1) {
      put(s, element(0, 1), 2);  // the same line
      put(s, element(0, 8), 3);  // the next line
      s.flush(0);
      CHECK(get(s, element(0, 1)) == 2);
    }
    me.all_here();
    if (me.rank() == 0) {
      s.clean({0, 0}, 64);
      s.drain_stores();
    }
    me.all_here();
    CHECK(get(s, element(0, 0)) == 1);
    CHECK(get(s, element(0, 1)) == 0);
    CHECK(get(s, element(0, 8)) == 3);
  });
}

TEST_CASE("a drop writes modified copies back") {
  on_ranks(1, no_adversary, [](seat me) {
    auto s = me.segment(40);
    store(s, element(0, 9), 4);  // a line of 8 bytes: the last of the part
    s.drop({0, 0}, 40);
    s.drain_all();
    CHECK(s.counters().write_backs == 1);
    CHECK(get(s, element(0, 9)) == 4);
    CHECK(load(s, element(0, 9)) == 4);
  });
}

TEST_CASE(
    "a fill finds lines that this rank has cleaned but not drained, and no older clean overtakes a newer "
    "store") {
  on_ranks(1, no_adversary, [](seat me) {
    auto s = me.segment(32);
    store(s, element(0, 0), 1);
    s.clean({0, 0}, 4);
    s.drop({0, 0}, 4);
    s.drain_all();
    CHECK(load(s, element(0, 0)) == 1);
    s.clean({0, 0}, 4);
    store(s, element(0, 0), 2);
    s.clean({0, 0}, 4);
    store(s, element(0, 0), 3);
    s.drop({0, 0}, 4);
    s.drain_all();
    s.drain_stores();
    CHECK(get(s, element(0, 0)) == 3);
  });
}

TEST_CASE("clean and drop act on every line that their range touches, and on no other") {
  on_ranks(1, no_adversary, [](seat me) {
    constexpr std::size_t line = no_adversary.line_bytes;
    constexpr std::size_t bytes = 3 * line;
    for (std::size_t offset = 0; offset < bytes; ++offset) {
      for (std::size_t count = 1; count <= bytes - offset; count += offset % 5 + 1) {
        auto s = me.segment(bytes);
        std::vector<std::byte> const ones(bytes, std::byte{1});
        std::vector<std::byte> seen(bytes);
        s.store({0, 0}, ones);
        s.clean({0, offset}, count);
        s.drain_stores();
        s.get({0, 0}, seen);
        s.flush_local(0);
        bool right = true;
        for (std::size_t i = 0; i < bytes; ++i) {
          bool const touched = i / line >= offset / line && i / line <= (offset + count - 1) / line;
          right = right && seen[i] == std::byte{touched};
        }
        auto const before = s.counters().fills;
        s.drop({0, offset}, count);
        s.drain_all();
        s.load({0, 0}, seen);
        right = right && seen == ones;
        CHECK_MESSAGE(right, "offset " << offset << " count " << count);
        CHECK(s.counters().fills - before == (offset + count - 1) / line - offset / line + 1);
      }
    }
  });
}

TEST_CASE(
    "the adversary fetches, evicts and drains by itself, and repeats the same actions for the same seed") {
  auto const trace = [](std::uint64_t seed) {
    counters total;
    on_ranks(1, {.seed = seed}, [&](seat me) {
      auto s = me.segment(1024);
      for (int i = 0; i < 1000; ++i) {
        store(s, element(0, static_cast<std::size_t>(i * 37 % 256)), i);
        if (i % 10 == 0) s.clean({0, 0}, 1024);
      }
      total = s.counters();
    });
    return total;
  };
  auto const one = trace(1);
  CHECK(one.speculative_fills > 0);
  CHECK(one.evictions > 0);
  CHECK(one.write_backs > 0);
  CHECK(one == trace(1));
  CHECK_FALSE(one == trace(2));
}

TEST_CASE("one rank alone sees its own stores, against 200 seeds") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    on_ranks(1, {.seed = seed, .evict = 4, .drain = 2, .discard = 0}, [&](seat me) {
      auto s = me.segment(200);
      std::array<int, 50> expected{};
      dice d(seed, 0, 99);
      bool right = true;
      for (int step = 0; step < 400; ++step) {
        std::size_t const i = d.below(expected.size());
        switch (d.below(6)) {
          case 0:
            s.clean(element(0, i), 4);
            break;
          case 1:
            s.drop(element(0, i), 4);
            break;
          case 2:
            s.drain_all();
            break;
          case 3:
            s.drain_stores();
            break;
          case 4:
            right = right && load(s, element(0, i)) == expected[i];
            break;
          default:
            store(s, element(0, i), expected[i] = step);
            break;
        }
      }
      CHECK_MESSAGE(right, "seed " << seed);
    });
  }
  std::cout << "covered: 200 seeds of one rank's stores, cleans and drops\n";
}

// ---- transfers -------------------------------------------------------------------------------------

TEST_CASE("a put arrives at flush and not before, and only at the flushed target") {
  on_ranks(3, no_adversary, [](seat me) {
    auto s = me.segment(32);
    auto const others_get = [&](int at_0, int at_1) {
      me.all_here();
      if (me.rank() != 2) {
        CHECK(get(s, element(0, 2)) == at_0);
        CHECK(get(s, element(1, 2)) == at_1);
      }
      me.all_here();
    };
    if (me.rank() == 2) {
      put(s, element(0, 2), 10);
      put(s, element(1, 2), 11);
      s.flush_local_all();
      s.drain_stores();
      s.drain_all();
    }
    others_get(0, 0);
    if (me.rank() == 2) s.flush(1);
    others_get(0, 11);
    if (me.rank() == 2) s.flush_all();
    others_get(10, 11);
  });
}

TEST_CASE("a put reads its source at once, and does not touch this rank's copies") {
  on_ranks(1, no_adversary, [](seat me) {
    auto s = me.segment(32);
    CHECK(load(s, element(0, 0)) == 0);
    int source = 1;
    s.put(element(0, 0), std::as_bytes(std::span(&source, 1)));
    source = 2;
    s.flush(0);
    CHECK(load(s, element(0, 0)) == 0);
    CHECK(get(s, element(0, 0)) == 1);
  });
}

TEST_CASE("a get sees its rank's own earlier put") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    on_ranks(2, {.seed = seed}, [](seat me) {
      auto s = me.segment(32);
      auto const mine = element(1 - me.rank(), static_cast<std::size_t>(me.rank()));
      for (int i = 1; i < 20; ++i) {
        put(s, mine, i);
        CHECK(get(s, mine) == i);
      }
    });
  }
}

TEST_CASE(
    "the source of an rput is read before its wait returns, and an rget's destination holds the data after "
    "it") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    on_ranks(2, {.seed = seed}, [](seat me) {
      auto s = me.segment(32);
      if (me.rank() == 0) {
        int source = 1;
        auto request = s.rput(element(1, 0), std::as_bytes(std::span(&source, 1)));
        request.wait();
        request.wait();
        source = 2;
        s.flush(1);
        int into = 0;
        auto back = s.rget(element(1, 0), std::as_writable_bytes(std::span(&into, 1)));
        while (!back.test()) {}
        CHECK(into == 1);
      }
      me.all_here();
    });
  }
}

TEST_CASE(
    "a get may be late: its destination holds the data after flush_local, and may not hold them before") {
  int late = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    on_ranks(1, {.seed = seed}, [&](seat me) {
      auto s = me.segment(32);
      put(s, element(0, 0), 3);
      s.flush(0);
      int into = 0;
      s.get(element(0, 0), std::as_writable_bytes(std::span(&into, 1)));
      if (into != 3) ++late;
      s.flush_local(0);
      CHECK(into == 3);
    });
  }
  CHECK(late > 0);
  CHECK(late < 20);
}

// ---- control words ---------------------------------------------------------------------------------

TEST_CASE("the error for a slot's wrong writer names that writer and the right one") {
  std::array<std::string, 3> said;
  on_ranks(3, {}, [&](seat me) {
    auto words = me.words({.slots = 2, .cells = 0});
    if (me.rank() == 1) {
      words.slot(2, 1, 1).store(5, std::memory_order_release);
      said[0] = message_of([&] { words.slot(2, 1, 0).store(6, std::memory_order_release); });
    }
    me.all_here();
    if (me.rank() == 0) {
      said[1] = message_of([&] { words.slot(2, 1, 0).store(6, std::memory_order_release); });
      said[2] = message_of([&] { static_cast<void>(words.slot(2, 2, 0)); });
    }
    CHECK(words.slot(2, 1, 1).load(std::memory_order_acquire) == 5);
  });
  CHECK(contains(said[0],
                 "rank 1: store: rank 1 stores to slot 1 of rank 2 (test words), but rank 0 is its writer"));
  CHECK(contains(
      said[1], "rank 0 stores to slot 1 of rank 2 (test words), but rank 1 has stored to it as its writer"));
  CHECK(contains(said[1], "wrong order"));
  CHECK(contains(said[2], "word 2 of rank 2 (test words) does not exist, there are 2"));
}

TEST_CASE("read-modify-writes are indivisible under contention from 4 ranks") {
  constexpr word times = 2000;
  on_ranks(4, {}, [&](seat me) {
    auto words = me.words({.slots = 1, .cells = 4});
    auto const sum = words.cell(0, 0);
    auto const bits = words.cell(1, 1);
    auto const swaps = words.cell(2, 2);
    auto const tokens = words.cell(3, 3);
    word given = 0;
    word taken = 0;
    for (word i = 0; i < times; ++i) {
      sum.fetch_add(1, std::memory_order_relaxed);
      bits.fetch_xor(word{1} << static_cast<unsigned>(me.rank()), std::memory_order_relaxed);
      for (word old = swaps.load(std::memory_order_relaxed);
           !swaps.compare_exchange(old, old + 1, std::memory_order_acq_rel);) {}
      word const mine = i * 4 + static_cast<word>(me.rank()) + 1;
      given += mine;
      taken += tokens.exchange(mine, std::memory_order_acq_rel);
    }
    words.cell(0, 3).fetch_add(given - taken, std::memory_order_acq_rel);
    me.all_here();
    CHECK(sum.load(std::memory_order_relaxed) == 4 * times);
    CHECK(bits.load(std::memory_order_relaxed) == 0);
    CHECK(swaps.load(std::memory_order_relaxed) == 4 * times);
    // Each token but the last was taken exactly once.
    CHECK(words.cell(0, 3).load(std::memory_order_relaxed) == tokens.load(std::memory_order_relaxed));
  });
}

TEST_CASE("a plain store that meets a read-modify-write can be lost") {
  constexpr word others_bit = word{1} << 63U;
  int lost = 0;
  std::atomic<bool> over{false};
  std::atomic<int> turns{0};
  on_ranks(2, {.yield = 1}, [&](seat me) {
    auto words = me.words({.slots = 0, .cells = 1});
    auto const cell = words.cell(0, 0);
    if (me.rank() == 0) {
      for (word i = 1; i <= 1000; ++i) {
        cell.reset_unshared(i, std::memory_order_relaxed);
        for (int const before = turns; turns < before + 2;) std::this_thread::yield();
        if ((cell.load(std::memory_order_relaxed) & ~others_bit) != i) ++lost;
      }
      over = true;
    } else {
      for (; !over; ++turns) cell.fetch_xor(others_bit, std::memory_order_acq_rel);
    }
  });
  CHECK(lost > 0);
}

TEST_CASE("waits end with the value, with the index, or at the deadline") {
  std::string late;
  on_ranks(2, {}, [&](seat me) {
    auto words = me.words({.slots = 3, .cells = 0});
    rank_t const other = 1 - me.rank();
    if (me.rank() == 1) {
      words.slot(0, 2, 1).store(9, std::memory_order_release);
    } else {
      std::array slots{words.slot(0, 0, 1), words.slot(0, 1, 1), words.slot(0, 2, 1)};
      pgas::waiting_for const why{.operation = "test", .awaited = group(&other, 1)};
      CHECK(words.wait_any(
                std::span<control::slot_type>(slots), [](word w) { return w != 0; }, why) == 2);
      CHECK(words.wait_until(
                slots[2], [](word w) { return w > 4; }, why) == 9);
      late = message_of([&] {
        words.wait_until(slots[0], [](word w) { return w != 0; },
                         {.operation = "test",
                          .awaited = group(&other, 1),
                          .deadline = backend::now() + std::chrono::milliseconds(20)});
      });
    }
    me.all_here();
  });
  CHECK(contains(late, "rank 0: test: this rank waited "));
  CHECK(contains(late, "timed out"));
}

TEST_CASE("a wait for a rank that has failed ends, and the launch throws the rank's error") {
  std::string waiter;
  auto const launch = message_of([&] {
    on_ranks(2, {}, [&](seat me) {
      auto words = me.words({.slots = 1, .cells = 0});
      if (me.rank() == 1) throw std::runtime_error("had enough");
      rank_t const other = 1;
      waiter = message_of([&] {
        words.wait_until(words.slot(0, 0, 1), [](word w) { return w != 0; },
                         {.operation = "test", .awaited = group(&other, 1)});
      });
      me.b.check("test");
    });
  });
  CHECK(contains(waiter, "had enough"));
  CHECK(contains(launch, "rank 1 threw: had enough"));
}

// ---- memory ----------------------------------------------------------------------------------------

TEST_CASE("parts may differ in size and be empty, and bad ranges are refused with rank, bytes and bound") {
  std::array<std::string, 5> said;
  on_ranks(2, {}, [&](seat me) {
    std::vector<std::size_t> const sizes{0, 12};
    auto const handle = me.agree("uneven", [&] { return me.b.reserve_segment(sizes); });
    auto s = me.b.attach_segment(handle, sizes[static_cast<std::size_t>(me.rank())]);
    CHECK(s.part_bytes(0) == 0);
    CHECK(s.part_bytes(1) == 12);
    s.put({0, 0}, {});
    s.load({1, 12}, {});
    s.clean({0, 0}, 0);
    s.drop({0, 0}, 0);
    s.drain_all();
    me.all_here();
    if (me.rank() == 0) {
      said[0] = message_of([&] { put(s, {1, 10}, 1); });
      said[1] = message_of([&] { store(s, {0, 0}, 1); });
      said[2] = message_of([&] { put(s, {2, 0}, 1); });
      said[3] = message_of([&] {
        static_cast<void>(me.b.reserve_segment(std::vector<std::size_t>{~std::size_t{0}, 1}));
      });
      said[4] = message_of([&] { static_cast<void>(me.b.attach_segment(handle, 0)); });
      put(s, element(1, 2), 6);
      s.flush(1);
    }
    me.all_here();
    if (me.rank() == 1) CHECK(get(s, element(1, 2)) == 6);
  });
  CHECK(contains(said[0], "rank 0: put: 4 bytes do not fit at 10 of 12 on rank 1"));
  CHECK(contains(said[1], "rank 0: store: 4 bytes do not fit at 0 of 0 on rank 0"));
  CHECK(contains(said[2], "rank 2 does not exist in a team of 2"));
  CHECK(contains(said[3], "no space"));
  CHECK(contains(said[4], "all its ranks have attached"));
}

TEST_CASE("a sub-team numbers its ranks from 0 and has memory of its own") {
  on_ranks(4, {}, [](seat me) {
    // The odd ranks in reverse (3, 1), and the even ones.
    std::vector<rank_t> const members =
        me.rank() % 2 == 1 ? std::vector<rank_t>{3, 1} : std::vector<rank_t>{0, 2};
    rank_t const self = members[0] == me.rank() ? 0 : 1;
    auto sub = me.b.sub_team(members, self);
    CHECK(sub.size() == 2);
    CHECK(sub.world_rank(self) == me.rank());
    CHECK(sub.locality_of(self) == pgas::locality::self);
    std::string const key = me.rank() % 2 == 1 ? "odd" : "even";
    backend::handle handle{};
    if (self == 0) {
      handle = sub.reserve_segment(std::vector<std::size_t>{32, 32});
      me.boot.put(key, std::as_bytes(std::span(&handle, 1)));
    }
    me.boot.get(key, std::as_writable_bytes(std::span(&handle, 1)));
    auto s = sub.attach_segment(handle, 32);
    put(s, element(1 - self, 0), me.rank());
    s.flush_all();
    me.all_here();
    CHECK(get(s, element(self, 0)) == members[static_cast<std::size_t>(1 - self)]);
  });
}

TEST_CASE("a read-only access emits no clean, and a write-only one no drop") {
  on_ranks(2, no_adversary, [](seat me) {
    auto s = me.segment(256);
    rank_t const target = 1 - me.rank();
    group const targets(&target, 1);
    window_boundary<segment_type, coherence::write_back, boundary_of::remote, hints{.read_only = true}> reads(
        s);
    reads.refresh(targets);
    CHECK(load(s, element(target, 0)) == 0);
    reads.publish(targets);
    CHECK(s.counters().cleans == 0);
    CHECK(s.counters().store_drains == 0);
    CHECK(s.counters().flushes == 0);
    CHECK(s.counters().drops == 1);
    window_boundary<segment_type, coherence::write_back, boundary_of::remote, hints{.write_only = true}>
        writes(s);
    writes.refresh(targets);
    me.all_here();
    put(s, element(target, 0), 1);
    writes.publish(targets);
    CHECK(s.counters().drops == 1);
    CHECK(s.counters().full_drains == 1);
    CHECK(s.counters().flushes == 1);
    CHECK(s.counters().store_drains == 1);
  });
}

// ---- litmus: message passing there and back --------------------------------------------------------

/// The ways in which a protocol uses its boundary: the right one and wrong ones.
enum class order { right, refresh_before_the_signal, no_flush };

/// Rank 0 stores to its own part and posts. Rank 1 reads the value, puts beside it and completes. Rank 0
/// reads the put. Three rounds, so that copies from earlier rounds exist. Returns whether every value was
/// right.
template <class Policy, order Order = order::right>
bool passes(adversary const& a) {
  std::atomic<bool> right{true};
  on_ranks(2, a, [&](seat me) {
    auto s = me.segment(64);
    auto words = me.words({.slots = 1, .cells = 0});
    rank_t const self = me.rank();
    rank_t const other = 1 - self;
    group const others(&other, 1);
    window_boundary<segment_type, Policy, boundary_of::own> exposure(s);
    window_boundary<segment_type, Policy, boundary_of::remote> access(s);

    auto const publish = [&](auto& boundary) {
      if constexpr (Order == order::no_flush) {
        Policy::drain_stores(s);
      } else {
        boundary.publish(others);
      }
    };
    auto const signal = [&](word round) {
      words.slot(other, 0, self).store(round, std::memory_order_release);
    };
    auto const wait = [&](auto& boundary, word round) {
      if constexpr (Order == order::refresh_before_the_signal) boundary.refresh(others);
      words.wait_until(words.slot(self, 0, other), [&](word seen) { return seen == round; },
                       {.operation = "litmus", .awaited = others});
      if constexpr (Order != order::refresh_before_the_signal) boundary.refresh(others);
    };
    auto const expect = [&](location at, int expected, auto&& read) {
      int value = 0;
      read(s, at, std::as_writable_bytes(std::span(&value, 1)));
      s.flush_local(at.rank);
      if (value != expected) right = false;
    };
    auto const own_store = [&](std::size_t i, int value) {
      Policy::store(s, element(0, i), std::as_bytes(std::span(&value, 1)));
    };

    for (int round = 1; round <= 3; ++round) {
      if (self == 0) {
        own_store(0, 10 + round);
        own_store(8, 20 + round);
        exposure.publish(others);
        signal(static_cast<word>(round));
        wait(exposure, static_cast<word>(round));
        for (std::size_t i : {1U, 9U}) {
          expect(element(0, i), 30 + round + static_cast<int>(i), [](auto&&... x) { Policy::load(x...); });
        }
        for (std::size_t i : {0U, 8U}) {
          expect(element(0, i), (i == 0 ? 10 : 20) + round, [](auto&&... x) { Policy::load(x...); });
        }
      } else {
        wait(access, static_cast<word>(round));
        expect(element(0, 0), 10 + round, [](auto&&... x) { Policy::get(x...); });
        expect(element(0, 8), 20 + round, [](auto&&... x) { Policy::get(x...); });
        for (std::size_t i : {1U, 9U}) {  // both in lines that rank 0 stored to
          int const value = 30 + round + static_cast<int>(i);
          Policy::put(s, element(0, i), std::as_bytes(std::span(&value, 1)));
        }
        publish(access);
        signal(static_cast<word>(round));
      }
    }
  });
  return right;
}

constexpr std::uint64_t passing_seeds = 500;

template <class Policy>
void check_all_seeds() {
  CHECK(passes<Policy>(no_adversary));
  for (std::uint64_t seed = 0; seed < passing_seeds; ++seed)
    CHECK_MESSAGE(passes<Policy>({.seed = seed}), "seed " << seed);
  std::cout << "covered: " << passing_seeds << " seeds of message passing there and back with "
            << Policy::name << "\n";
}

/// The first seed against which a wrong program fails.
template <class Policy, order Order = order::right>
std::optional<std::uint64_t> caught(adversary a = {}) {
  for (std::uint64_t seed = 0; seed < passing_seeds; ++seed) {
    a.seed = seed;
    if (!passes<Policy, Order>(a)) return seed;
  }
  return std::nullopt;
}

TEST_CASE("message passing with all steps of write_back gives the right value against 500 seeds") {
  check_all_seeds<coherence::write_back>();
}
TEST_CASE("message passing with drop_at_get gives the right value against 500 seeds") {
  check_all_seeds<coherence::drop_at_get>();
}
TEST_CASE("message passing with uncached gives the right value against 500 seeds") {
  check_all_seeds<coherence::uncached>();
}

TEST_CASE("message passing gives a wrong value without each one of write_back's steps") {
  for (step const missing : {step::clean_own, step::drop_own, step::drop_remote, step::drain_stores,
                             step::drain_all, step::fence_kind}) {
    pgas_test::lacking const mutant(missing);
    auto const seed = caught<pgas_test::mutated<coherence::write_back>>();
    REQUIRE(seed);
    std::cout << "covered: step " << static_cast<int>(missing) << " of write_back is missed at seed " << *seed
              << "\n";
  }
}

TEST_CASE(
    "message passing gives a wrong value without flush, without any step, and with a drop before the "
    "signal") {
  CHECK(caught<coherence::write_back, order::no_flush>());
  CHECK(caught<coherence::unsafe_none>());
  CHECK(caught<coherence::write_back, order::refresh_before_the_signal>());
}

TEST_CASE("a drop before the signal is enough on memory that does not fetch by speculation") {
  CHECK_FALSE(caught<coherence::write_back, order::refresh_before_the_signal>({.fill = 0}));
}

}  // namespace
