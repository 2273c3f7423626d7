// SPDX-License-Identifier: BSL-1.0
// The simulated network on its own: its equations by hand, what grows with ranks and what does not, failures,
// and real programs on many ranks; and the conformance suites again, on it.
#include <pgas/backends/simulated.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/global_array.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>

#define PGAS_TEST_ONE_BACKEND pgas::backends::simulated
#include "support/launches.hpp"

template <>
struct pgas_test::bootstrap_of<pgas::backends::simulated> {
  using type = pgas::detail::simulated::rank_bootstrap;
};

#include "conformance/bootstrap.hpp"
#include "conformance/channel.hpp"
#include "conformance/channel_ends.hpp"
#include "conformance/collective.hpp"
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

using pgas::backends::simulated;
using pgas::simulated::ticks;
using simulated_model = model<simulated>;
constexpr ticks ns = 1000;

pgas::simulated::options on_network(pgas::simulated::network const& n) { return {.network = n}; }

/// Calls body(backend, bootstrap) on each rank, on the network of round numbers.
template <class Body>
void on_round_numbers(rank_t ranks, Body const& body) {
  pgas::simulated::with_options const with(on_network(pgas::simulated::round_numbers));
  CHECK_NOTHROW(launch<simulated>(ranks, body));
}
/// The virtual time that act() takes on the calling rank.
template <class Act>
ticks time_of(simulated const& b, Act&& act) {
  ticks const begin = b.virtual_time();
  act();
  return b.virtual_time() - begin;
}
std::vector<std::byte> const& some_bytes() {
  static std::vector<std::byte> const bytes(100'000);
  return bytes;
}
template <class Segment>
void put_and_flush(Segment& s, std::size_t bytes) {
  s.put({1, 0}, std::span(some_bytes()).first(bytes));
  s.flush(1);
}

TEST_CASE("simulated: a put, a get, a load and a read-modify-write take the times of their equations") {
  // overhead 100, latency 1000, gap 200, put_byte 1, get_byte 2, read 300, atomic 400
  on_round_numbers(2, [](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 4096));
    auto c = make_control(b, boot, "c", {.slots = 1, .cells = 1});
    if (b.rank() == 0) {
      std::vector<std::byte> into(8);
      require_equal(time_of(b, [&] { put_and_flush(s, 8); }), (100 + 2 * 1000 + 8) * ns, "put and flush");
      require_equal(time_of(b, [&] { put_and_flush(s, 4096); }), (100 + 2 * 1000 + 4096) * ns, "a long put");
      auto const get = time_of(b, [&] {
        s.get({1, 0}, into);
        s.flush_local(1);
      });
      require_equal(get, (100 + 2 * 1000 + 300 + 2 * 8) * ns, "get and flush");
      auto const requested = time_of(b, [&] { s.rget({1, 0}, into).wait(); });
      require_equal(requested, get, "a get with a request");
      auto const atomic = time_of(b, [&] {
        static_cast<void>(s.template fetch_op<int>({1, 0}, 1, pgas::op::sum{}));
      });
      require_equal(atomic, (100 + 2 * 1000 + 400) * ns, "a read-modify-write of an element");
      auto const added = time_of(b, [&] { c.cell(1, 0).fetch_add(1, std::memory_order_acq_rel); });
      require_equal(added, atomic, "a read-modify-write of a cell");
      auto const loaded =
          time_of(b, [&] { static_cast<void>(c.slot(1, 0, 1).load(std::memory_order_acquire)); });
      require_equal(loaded, (100 + 2 * 1000 + 300) * ns, "a load");
      auto const stored = time_of(b, [&] { c.slot(1, 0, 0).store(1, std::memory_order_release); });
      require_equal(stored, 100 * ns, "a store, after which its origin goes on");
      b.charge(200);
      s.local()[0] = std::byte{1};
      require_equal(time_of(b, [&] { put_and_flush(s, 0); }), (100 + 2 * 1000) * ns,
                    "the own part is plain memory, and an empty put a message");
    }
    boot.fence();
  });
}

TEST_CASE(
    "simulated: puts follow each other after the gap, or after their bytes, and a flush waits for the last") {
  on_round_numbers(2, [](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 4096));
    if (b.rank() == 0) {
      auto const many = [&](std::size_t bytes) {
        return time_of(b, [&] {
          for (int i = 0; i < 200; ++i) s.put({1, 0}, std::span(some_bytes()).first(bytes));
          s.flush(1);
        });
      };
      require_equal(many(8), (199 * 200 + 100 + 2 * 1000 + 8) * ns, "200 puts of 8 bytes");
      boot.put("rest", {});
      require_equal(many(1000), (199 * 1000 + 100 + 2 * 1000 + 1000) * ns, "200 puts of 1000 bytes");
    }
    boot.fence();
  });
}

TEST_CASE("simulated: events at one time follow each other in the order in which they were planned") {
  pgas::detail::simulated::event_queue queue;
  using event = pgas::detail::simulated::event;
  for (std::uint32_t i = 0; i < 300; ++i) queue.plan(i % 3, event::resume, i);
  for (std::uint32_t i = 0; i < 300; ++i) {
    auto const next = queue.take();
    CHECK(next.at == i / 100);
    CHECK(next.which == i % 100 * 3 + i / 100);
  }
  CHECK(queue.is_empty());
}

TEST_CASE(
    "simulated: an interface takes messages in order, and one of the future delays none of the present") {
  pgas::detail::simulated::interface in_order;
  CHECK(in_order.take(100, 10) == 100);
  CHECK(in_order.take(105, 10) == 110);
  CHECK(in_order.take(106, 10) == 120);
  CHECK(in_order.take(500, 10) == 500);
  pgas::detail::simulated::interface shared;
  shared.expect_disorder();
  constexpr ticks us = 1'000'000;
  CHECK(shared.take(50 * us, 10 * ns) == 50 * us);
  CHECK(shared.take(20 * us, 10 * ns) == 20 * us);  // free until then
  // A hundred messages fill a microsecond, so none of them is taken in the same one as the first hundred.
  for (int i = 0; i < 99; ++i) CHECK(shared.take(20 * us, 10 * ns) < 21 * us);
  CHECK(shared.take(20 * us, 10 * ns) == 21 * us);
}

TEST_CASE("simulated: a store wakes the rank that waits for it after overhead and latency") {
  on_round_numbers(2, [](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 1, .cells = 0});
    auto const is_set = [](pgas::word w) { return w == 7; };
    ticks const begin = b.virtual_time();
    if (b.rank() == 0) {
      b.charge(5000);
      c.slot(1, 0, 0).store(7, std::memory_order_release);
    } else {
      c.wait_until(c.slot(1, 0, 0), is_set, {.operation = "word"});
      require_equal(b.virtual_time() - begin, (5000 + 100 + 1000) * ns, "the end of the wait");
    }
    boot.fence();
    // The word of another rank: the last look at it comes back after its reading, and a latency.
    if (b.rank() == 1) {
      c.wait_until(c.slot(1, 0, 0), is_set, {.operation = "own word"});
    } else {
      auto const look = time_of(b, [&] { c.wait_until(c.slot(1, 0, 0), is_set, {.operation = "word"}); });
      require_equal(look, (100 + 1000 + 300 + 1000) * ns, "a wait for a remote word that is there");
    }
    boot.fence();
  });
}

TEST_CASE("simulated: Cray's parameters give the cost functions of foMPI's paper") {
  auto const [put, get, swap, flush] = [] {
    auto n = pgas::simulated::cray_gemini;
    n.node = 1;
    pgas::simulated::with_options const with(on_network(n));
    std::array<std::vector<double>, 4> us;  // ranks are fibers, so one of them may tell the caller
    pgas::run<simulated>(2, [&us](auto& team) {
      auto w = pgas::make_window<char>(team, 100'000);
      auto words = pgas::make_window<std::int64_t>(team, 1);
      auto const clock = [&] { return pgas::simulated::microseconds_of(team); };
      auto& s = w.state().segment;
      if (team.rank() == 0) {
        for (std::size_t bytes : {8U, 4096U, 65536U}) {
          double begin = clock();
          put_and_flush(s, bytes);
          us[0].push_back(clock() - begin);
          std::vector<std::byte> into(bytes);
          begin = clock();
          s.get({1, 0}, into);
          s.flush(1);
          us[1].push_back(clock() - begin);
        }
        double begin = clock();
        words.state().segment.template compare_exchange<std::int64_t>({1, 0}, 0, 1);
        us[2].push_back(clock() - begin);
        begin = clock();
        s.flush(1);
        us[3].push_back(clock() - begin);
      }
      team.barrier();
    });
    return us;
  }();
  std::array<double, 3> const bytes{8, 4096, 65536};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK(put.at(i) == doctest::Approx(1.0 + 0.16e-3 * bytes[i]).epsilon(1e-9));
    CHECK(get.at(i) == doctest::Approx(1.9 + 0.17e-3 * bytes[i]).epsilon(1e-9));
  }
  CHECK(swap.at(0) == doctest::Approx(2.4).epsilon(1e-9));
  CHECK(flush.at(0) == doctest::Approx(0.076).epsilon(1e-9));
}

TEST_CASE(
    "simulated: read-modify-writes of one word by all ranks follow each other, so their time is linear") {
  for (rank_t ranks : {2, 16, 64}) {
    ticks last = 0;
    on_round_numbers(ranks, [&last](auto& b, auto& boot) {
      auto c = make_control(b, boot, "c", {.slots = 0, .cells = 1});
      if (b.rank() != 0) {
        ticks const takes = time_of(b, [&] { c.cell(0, 0).fetch_add(1, std::memory_order_relaxed); });
        last = std::max(last, takes);
      }
      boot.fence();
    });
    auto const others = static_cast<ticks>(ranks - 1);
    CHECK(last == (100 + 2 * 1000 + 400 + (others - 1) * 50) * ns);
  }
}

TEST_CASE(
    "simulated: dissemination takes one store and one latency a round, and log2 of the ranks many rounds") {
  for (rank_t ranks : {2, 5, 64, 1000}) {
    ticks longest = 0;
    std::uint64_t stores = 0;
    on_round_numbers(ranks, [&](auto& b, auto& boot) {
      auto c = make_control(b, boot, "c", pgas::sync::dissemination::words(b.size()));
      typename pgas::sync::dissemination::template on<decltype(c)> protocol(c, {});
      pgas::no_boundary nothing;
      std::uint64_t const before = b.counters().remote().stores;
      longest = std::max(longest, time_of(b, [&] { protocol.fence(nothing, "fence"); }));
      stores = std::max(stores, b.counters().remote().stores - before);
      boot.fence();
    });
    auto const rounds = static_cast<ticks>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    CHECK(longest == rounds * (100 + 1000) * ns);
    CHECK(stores == rounds);
  }
}

/// The longest time of an epoch with the neighbours at distances 1 and 2 on a ring, and the most messages to
/// one rank.
template <class Protocol>
std::pair<ticks, std::uint64_t> epoch_on_a_ring(rank_t ranks) {
  ticks longest = 0;
  std::uint64_t busiest = 0;
  on_round_numbers(ranks, [&](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", Protocol::words(b.size()));
    typename Protocol::template on<decltype(c)> protocol(c, {});
    pgas::no_boundary nothing;
    rank_t const n = b.size(), r = b.rank();
    std::array const around{(r + 1) % n, (r + 2) % n, (r + n - 1) % n, (r + n - 2) % n};
    std::uint64_t const before = b.counters().received;
    auto const takes = time_of(b, [&] {
      protocol.post(around, nothing);
      protocol.start(around, nothing, pgas::exposure_state::awaited);
      protocol.complete(around, nothing, pgas::exposure_state::awaited);
      protocol.wait(around, nothing);
    });
    longest = std::max(longest, takes);
    boot.fence();
    busiest = std::max(busiest, b.counters().received - before);
    boot.fence();
  });
  return {longest, busiest};
}

TEST_CASE(
    "simulated: post, start, complete and wait with four neighbours cost the same among 64 and 1024 ranks") {
  CHECK(epoch_on_a_ring<pgas::sync::match_vector>(64) == epoch_on_a_ring<pgas::sync::match_vector>(1024));
  CHECK(epoch_on_a_ring<pgas::sync::match_list<8>>(64) == epoch_on_a_ring<pgas::sync::match_list<8>>(1024));
  CHECK(epoch_on_a_ring<pgas::sync::post_array>(64) == epoch_on_a_ring<pgas::sync::post_array>(1024));
  CHECK(epoch_on_a_ring<pgas::sync::match_vector>(64).second == 8);  // a post and a completion of each
}

TEST_CASE("simulated: an origin tells apart two targets that have the same bit of two words") {
  std::array<int, 2> posts{};
  on_round_numbers(129, [&](auto& b, auto& boot) {
    using post = pgas::sync::match_vector;
    auto c = make_control(b, boot, "c", post::words(b.size()));
    typename post::template on<decltype(c)> protocol(c, {});
    pgas::no_boundary nothing;
    std::array<rank_t, 2> const targets{64, 128};
    std::array<rank_t, 1> const origin{0};
    for (int i = 0; i < 3; ++i) {
      if (b.rank() == origin[0]) {
        protocol.start(targets, nothing, pgas::exposure_state::awaited);
        protocol.complete(targets, nothing, pgas::exposure_state::awaited);
        require(posts[0] > i && posts[1] > i, "both targets have posted for this epoch");
      } else if (b.rank() == targets[0] || b.rank() == targets[1]) {
        ++posts[b.rank() == targets[0] ? 0 : 1];
        protocol.post(origin, nothing);
        protocol.wait(origin, nothing);
      }
    }
    boot.fence();
  });
  CHECK(posts == std::array{3, 3});
}

TEST_CASE(
    "simulated: a store with release order is seen after the earlier stores, whatever ranks these went to") {
  // Rank 1 is far behind other messages, and rank 2 near: without order its word would change first.
  auto n = pgas::simulated::round_numbers;
  n.node = 2;
  n.links[1] = {.overhead = 1, .latency = 1};
  pgas::simulated::with_options const with(on_network(n));
  launch<simulated>(4, [](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 2, .cells = 0});
    auto const is_set = [](pgas::word w) { return w != 0; };
    if (b.rank() == 0) {
      c.slot(3, 0, 0).store(1, std::memory_order_relaxed);
      c.slot(1, 0, 0).store(1, std::memory_order_release);
    } else if (b.rank() == 1) {
      c.wait_until(c.slot(1, 0, 0), is_set, {.operation = "word"});
      require(b.virtual_time() >= (100 + 1000) * ns, "the near word changes after the far one");
    } else if (b.rank() == 2) {
      // Each stores, then looks at the other's word: one of them sees the store of the other.
      c.slot(3, 1, 2).store(1, std::memory_order_seq_cst);
      auto const begin = b.virtual_time();
      static_cast<void>(c.slot(2, 1, 3).load(std::memory_order_seq_cst));
      require(b.virtual_time() - begin >= 1 * ns, "the load follows the store's arrival");
    }
    boot.fence();
  });
}

/// A program of everything: collectives, a window, locks, accumulates, a split, random pauses.
pgas::simulated::totals mixture() {
  pgas::run<simulated>(100, [](auto& team) {
    random_source rng(static_cast<std::uint64_t>(team.rank()));
    auto w = pgas::make_window<int>(team, 20);
    for (int round = 0; round < 3; ++round) {
      {
        pgas::fence epoch{w};
        epoch.put(rng.rank_below(team.size()), rng.below(20), 1);
      }
      {
        rank_t const target = rng.rank_below(20);
        pgas::lock epoch{w, target, pgas::exclusive};
        epoch.accumulate(target, 3, 1);
      }
      team.charge(rng.below(1000));
      static_cast<void>(team.all_reduce(team.rank()));
    }
    auto const third = team.split(team.rank() % 3);
    static_cast<void>(third.all_gather(1));
  });
  return simulated::last_totals();
}

TEST_CASE("simulated: the same program takes the same virtual time to the last digit") {
  auto first = mixture();
  auto const each = simulated::last_counters();
  auto second = mixture();
  first.stack = second.stack = 0;  // a property of the compiler
  CHECK(first == second);
  CHECK(each == simulated::last_counters());
  CHECK(first.microseconds > 0);
  auto other = pgas::simulated::options{};
  other.network.node = 3;
  pgas::simulated::with_options const with(other);
  CHECK(mixture().microseconds != first.microseconds);
}

TEST_CASE("simulated: stores that are under way when a rank leaves a team still arrive") {
  for (rank_t const ranks : {2, 3, 8}) {
    long const sum = pgas::run<simulated>(ranks, [](auto& team) {
      std::vector<long> const mine(10, team.rank());
      std::vector<long> all(10);
      for (int i = 0; i < 5; ++i) {  // the last receipt of a sub-team's links arrives when the team is gone
        auto const half = team.split(team.rank() % 2);
        half.all_reduce(mine, all);
      }
      team.all_reduce(mine, all);
      return all[9];
    });
    CHECK(sum == ranks * (ranks - 1) / 2);
  }
}

/// The most messages that a rank sends, or that reach its node's memory for it, while all ranks make a call.
template <class Call>
std::uint64_t most_messages(rank_t ranks, Call const& call) {
  std::uint64_t most = 0;
  auto const program = [&](auto& team) {
    auto const messages = [&] {
      auto const& count = pgas::simulated::counters_of(team);
      std::uint64_t all = count.received;
      for (std::size_t d = 1; d < count.to.size(); ++d)
        all += count.to[d].stores + count.to[d].loads + count.to[d].atomics + count.to[d].puts;
      return all;
    };
    team.barrier();
    auto const before = messages();
    call(team);
    most = std::max(most, messages() - before);
  };
  pgas::run<simulated>(ranks, program);
  return most;
}

TEST_CASE("simulated: values of a large team take a few messages of a rank for each doubling of the ranks") {
  auto const sum = [](auto& team) { require_equal(team.all_reduce(1), team.size(), "the number of ranks"); };
  auto const send = [](auto& team) { require_equal(team.broadcast(team.rank(), 3), 3, "the root's value"); };
  std::uint64_t const sums = most_messages(64, sum);
  std::uint64_t const sends = most_messages(64, send);
  CHECK(sums < 6 * 10);  // 64 is 2^6
  CHECK(sends < 6 * 10);
  CHECK(most_messages(1024, sum) < 2 * sums);
  CHECK(most_messages(1024, send) < 2 * sends);
}

TEST_CASE(
    "simulated: all_gather, split and windows of a large team take a few messages for each doubling, too") {
  auto const gather = [](auto& team) {
    auto const values = team.all_gather(team.rank());
    for (rank_t r = 0; r < team.size(); ++r)
      require_equal(values[static_cast<std::size_t>(r)], r, "the value of a rank");
  };
  auto const split = [](auto& team) {
    auto const half = team.split(team.rank() % 2);
    require_equal(half.size(), team.size() / 2, "ranks of a half");
    require_equal(half.world_rank(half.rank()), team.rank(), "the same rank");
  };
  auto const open = [](auto& team) { auto const w = pgas::make_window<int>(team, 10); };
  // These also make memory for links, the first time.
  std::uint64_t const gathers = most_messages(64, gather);
  std::uint64_t const splits = most_messages(64, split);
  std::uint64_t const opens = most_messages(64, open);
  CHECK(gathers < 6 * 30);
  CHECK(splits < 6 * 40);
  CHECK(opens < 6 * 45);
  CHECK(most_messages(512, gather) < 2 * gathers);
  CHECK(most_messages(512, split) < 2 * splits);
  CHECK(most_messages(512, open) < 2 * opens);
}

TEST_CASE("node_ranges: nodes have consecutive ranks, or else each rank counts as a node") {
  auto const two = pgas::node_ranges::of({0, 0, 0, 3, 3});
  CHECK(two.count() == 2);
  CHECK(two.form_levels());
  CHECK(two.node_of(2) == 0);
  CHECK(two.node_of(3) == 1);
  CHECK(two.first(1) == 3);
  CHECK(two.size(1) == 2);
  auto const turned = pgas::node_ranges::of({0, 1, 0, 1});
  CHECK(turned.count() == 4);
  CHECK(turned.node_of(2) == 2);
  CHECK(!turned.form_levels());
  CHECK(!pgas::node_ranges::of({0, 0, 0}).form_levels());
}

/// Nodes of three ranks, the last one maybe of fewer.
pgas::simulated::options nodes_of_three() {
  pgas::simulated::options o = on_network(pgas::simulated::infiniband);
  o.network.node = 3;
  return o;
}

TEST_CASE("simulated: on nodes of three ranks each algorithm gives what a serial loop gives") {
  pgas::simulated::with_options const with(nodes_of_three());
  for (rank_t const ranks : {2, 5, 7}) on<simulated_model>(ranks, collective_suite::around_all_lengths);
}

TEST_CASE("simulated: on nodes of three ranks random sequences of collectives give what serial loops give") {
  pgas::simulated::with_options const with(nodes_of_three());
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  auto const end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(budget != nullptr ? std::atof(budget) : 2.0);
  std::uint64_t seed = next_seed();
  std::uint64_t const first = seed;
  do {
    on<simulated_model>(4 + static_cast<rank_t>(seed % 8), [seed](auto& team) {
      collective_suite::random_sequence(team, seed);
      // The halves have nodes of two ranks and of one; in the turned team no node has consecutive ranks.
      auto half = team.split(team.rank() % 2);
      collective_suite::random_sequence(half, seed + 1);
      auto turned = team.split(0, team.rank() % 3);
      collective_suite::random_sequence(turned, seed + 2);
    });
  } while (++seed, std::chrono::steady_clock::now() < end);
  std::cout << "covered: " << seed - first << " sequences of collectives on nodes of three simulated ranks\n";
}

TEST_CASE("simulated: a call that differs is noticed also when the next call's piece has come meanwhile") {
  auto const e = error_of<simulated_model>(2, [](auto& team) {
    std::vector<int> values(20);
    team.broadcast(values, 0, pgas::collectives::binomial{});
    if (team.rank() == 1) team.charge(1'000'000'000);
    std::vector<int> other(team.rank() == 0 ? 20 : 21);
    team.broadcast(other, 0, pgas::collectives::binomial{});
    team.broadcast(values, 0, pgas::collectives::binomial{});
    team.barrier();
  });
  REQUIRE(e.has_value());
  CHECK(e->code() == pgas::make_error_code(errc::mismatch));
}

std::string what(std::optional<pgas::error> const& e) { return e ? e->what() : "no error"; }
bool has(std::string const& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

TEST_CASE(
    "simulated: started collectives end while their ranks wait for a signal, at the same times in each run") {
  // Rank 0 must pass pieces on, since the others wait for them before they signal. It looks at no request.
  auto const program = [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    std::vector<int> mine(5'000, 1);
    std::vector<int> sum(5'000);
    std::vector<int> word(100, team.rank());
    auto signals = pgas::make_signals(w);
    pgas::lock_all epoch{w};
    auto first = team.start().all_reduce(mine, sum);
    auto second = team.start().broadcast(word, 3);
    if (team.rank() != 0) {
      first.wait();
      second.wait();
      signals.signal(epoch, 0);
    } else {
      for (rank_t r = 1; r < team.size(); ++r) signals.wait({r});
      second.wait();
    }
    require_equal(sum[4'999], team.size(), "the sum");
    require_equal(word[99], 3, "the broadcast");
    return static_cast<double>(sum[0]);
  };
  CHECK(pgas::run<simulated>(37, program) == 37);
  double const once = simulated::last_totals().microseconds;
  CHECK(pgas::run<simulated>(37, program) == 37);
  CHECK(simulated::last_totals().microseconds == once);
}

TEST_CASE("simulated: ranks that wait for each other end with a sentence that lists eight of them") {
  auto const e = error_of<simulated_model>(40, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    if (team.rank() == 39) return;
    rank_t const next = (team.rank() + 1) % team.size();
    pgas::exposure epoch{w, pgas::group(&next, 1)};
  });
  REQUIRE(e.has_value());
  CHECK(e->code() == pgas::make_error_code(pgas::errc::deadlock));
  CHECK_MESSAGE(has(what(e), "rank 0 waits in wait (window 0) for rank 1; rank 1 waits"), what(e));
  CHECK_MESSAGE(has(what(e), "rank 7 waits in wait (window 0) for rank 8; 32 more ranks wait"), what(e));
  CHECK_MESSAGE(!has(what(e), "rank 8 waits"), what(e));
  CHECK_MESSAGE(has(what(e), "none of them can go on"), what(e));
}

TEST_CASE("simulated: a rank that fails is named, and ends the waits of all others") {
  auto const e = error_of<simulated_model>(300, [](auto& team) {
    if (team.rank() == 77) throw std::runtime_error("lost interest");
    team.barrier();
  });
  REQUIRE(e.has_value());
  CHECK(e->rank() == 77);
  CHECK_MESSAGE(has(what(e), "rank 77 threw: lost interest"), what(e));
}

TEST_CASE("simulated: too many ranks, too large parts and unknown networks are refused in a sentence") {
  auto const e = error_of<simulated_model>(65'537, [](auto&) {});
  CHECK_MESSAGE(has(what(e), "at most 65536 ranks, and 65537 were asked for"), what(e));
  auto const large = error_of<simulated_model>(
      2, [](auto& team) { static_cast<void>(pgas::make_window<char>(team, std::size_t{1} << 45U)); });
  CHECK_MESSAGE(has(what(large), "larger than this machine's memory"), what(large));
  ::setenv("PGAS_NETWORK", "string", 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(pgas::simulated::options::from_environment()),
                       "PGAS_NETWORK takes one of infiniband, cray_gemini, round_numbers, not 'string': "
                       "invalid argument",
                       pgas::error);
  ::setenv("PGAS_NETWORK", "cray_gemini", 1);
  ::setenv("PGAS_NODE", "7", 1);
  auto const chosen = pgas::simulated::options::from_environment();
  CHECK(chosen.network.name == "cray_gemini");
  CHECK(chosen.network.node == 7);
  ::unsetenv("PGAS_NETWORK");
  ::unsetenv("PGAS_NODE");
}

TEST_CASE("simulated: ranks of one node are near, and others remote, by the number of ranks a node") {
  auto o = pgas::simulated::options{};
  o.network.node = 4;
  o.network.group = 2;
  pgas::simulated::with_options const with(o);
  using pgas::simulated::distance;
  launch<simulated>(20, [](auto& b, auto& boot) {
    if (b.rank() == 5) {
      require(b.locality_of(5) == pgas::locality::self && b.locality_of(4) == pgas::locality::node &&
                  b.locality_of(8) == pgas::locality::remote,
              "the locality of ranks");
      require(b.distance_of(0) == distance::group && b.distance_of(7) == distance::node &&
                  b.distance_of(8) == distance::far,
              "their distance");
    }
    boot.fence();
  });
}

TEST_CASE("simulated: a run counts operations by distance, messages to each rank, and memory apart") {
  auto o = pgas::simulated::options{};
  o.network.node = 2;
  o.network.group = 2;
  pgas::simulated::with_options const with(o);
  launch<simulated>(6, [](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 1000));
    auto c = make_control(b, boot, "c", {.slots = 3, .cells = 2});
    for (rank_t to = 0; to < b.size(); ++to) s.put({to, 0}, std::span(some_bytes()).first(10));
    s.flush_all();
    if (b.rank() != 3) c.cell(3, 0).fetch_add(1, std::memory_order_relaxed);
    boot.fence();
  });
  auto const& t = simulated::last_totals();
  using pgas::simulated::distance;
  auto const at = [&](distance d) { return t.to[static_cast<std::size_t>(d)]; };
  CHECK(at(distance::self).puts == 6);
  CHECK(at(distance::node).puts == 6);
  CHECK(at(distance::group).puts == 8);  // the nodes 0 and 1 are one group
  CHECK(at(distance::far).puts == 16);
  CHECK(at(distance::far).bytes == 160 + 2 * 8);
  CHECK(at(distance::node).atomics == 1);
  CHECK(t.busiest == 10);  // rank 3: five puts and five atomics
  CHECK(simulated::last_counters()[3].received == 10);
  CHECK(t.most == pgas::simulated::held{.payload = 1000, .control = 40});
  CHECK(simulated::last_counters()[0].now == pgas::simulated::held{});
}

TEST_CASE("simulated: 1024 ranks reduce a value, and all get the same") {
  CHECK(pgas::run<simulated>(1024, [](auto& team) {
          auto const sum = team.all_reduce(static_cast<std::int64_t>(team.rank()));
          require_equal(sum, std::int64_t{1024} * 1023 / 2, "the sum on each rank");
          return sum;
        }) == std::int64_t{1024} * 1023 / 2);
}

TEST_CASE("simulated: 300 ranks, more than fit into a pull area at once, get what others lay out for them") {
  pgas::run<simulated>(300, [](auto& team) {
    auto const ranks = static_cast<std::size_t>(team.size());
    std::size_t const each = 25;  // 100 bytes, two pieces of a share of 64
    auto const value = [&](rank_t from, rank_t to, std::size_t i) {
      return (from * team.size() + to) * 32 + static_cast<int>(i);
    };
    std::vector<int> from(each * ranks), into(each * ranks), own(each);
    for (rank_t to = 0; to < team.size(); ++to) {
      for (std::size_t i = 0; i < each; ++i)
        from[static_cast<std::size_t>(to) * each + i] = value(team.rank(), to, i);
    }
    team.all_to_all(from, into, pgas::collectives::pulled{});
    team.scatter(from, own, 299, pgas::collectives::pulled{});
    for (rank_t r = 0; r < team.size(); ++r) {
      require_equal(into[static_cast<std::size_t>(r) * each + 24], value(r, team.rank(), 24), "an exchange");
    }
    for (std::size_t i = 0; i < each; ++i) require_equal(own[i], value(299, team.rank(), i), "a block");
  });
}

/// A plate with a cold edge, which steps cool.
class plate {
 public:
  plate(std::size_t rows, std::size_t cols) : cols_(cols), cells_((rows + 2) * (cols + 2)) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) (*this)(i, j) = heat_of(i, j);
    }
  }
  static double heat_of(std::size_t i, std::size_t j) { return static_cast<double>(i * 7 % 31 + j * 5 % 13); }
  double& operator()(std::size_t i, std::size_t j) { return cells_[(i + 1) * (cols_ + 2) + j + 1]; }
  double operator()(std::size_t i, std::size_t j) const { return const_cast<plate&>(*this)(i, j); }

 private:
  std::size_t cols_;
  std::vector<double> cells_;
};
template <class Cells>
double cooled(Cells const& u, std::size_t i, std::size_t j) {
  return u(i, j) + 0.2 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
}
plate cooled_plate(std::size_t rows, std::size_t cols, std::size_t steps) {
  plate now(rows, cols), next(rows, cols);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) next(i, j) = cooled(now, i, j);
    }
    std::swap(now, next);
  }
  return now;
}

TEST_CASE("simulated: an array on 256 ranks cools as it does on one") {
  constexpr std::size_t side = 64, steps = 3;
  using tiles = pgas::tiled<pgas::block, pgas::block>;
  plate const expected = cooled_plate(side, side, steps);
  pgas::run<simulated>(256, [&](auto& team) {
    auto now = pgas::make_array<double>(team, {side, side}, tiles{}, pgas::halo{.width = 1});
    auto next = pgas::make_array<double>(team, {side, side}, tiles{}, pgas::halo{.width = 1});
    auto const own = now.own_box();
    auto const for_own = [&own](auto&& use) {
      for (std::size_t i = 0; i < own.count[0]; ++i) {
        for (std::size_t j = 0; j < own.count[1]; ++j) use(i, j, own.first[0] + i, own.first[1] + j);
      }
    };
    {
      auto const u = pgas::stage(now, pgas::write_only);
      for_own([&](auto i, auto j, auto row, auto col) { u(i, j) = plate::heat_of(row, col); });
    }
    for (std::size_t step = 0; step < steps; ++step) {
      pgas::exchange_halo(now);
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::write_only);
        for_own([&](auto i, auto j, auto, auto) { v(i, j) = cooled(u, i, j); });
      }
      std::swap(now, next);
    }
    auto const u = pgas::stage(now, pgas::read_only);
    for_own([&](auto i, auto j, auto row, auto col) {
      require_equal(u(i, j), expected(row, col), "a cell of the plate");
    });
  });
}

TEST_CASE("simulated: 4096 ranks with a row each cool a plate as one rank does" *
          doctest::test_suite("long")) {
  constexpr std::size_t cols = 6, steps = 2;
  constexpr rank_t ranks = 4096;
  plate const expected = cooled_plate(ranks, cols, steps);
  pgas::run<simulated>(ranks, [&](auto& team) {
    constexpr std::size_t row = cols + 2;
    auto w = pgas::make_window<double>(team, 3 * row);  // the row above, the own row, the row below
    auto const self = static_cast<std::size_t>(team.rank());
    for (std::size_t j = 0; j < cols; ++j) w.local()[row + 1 + j] = plate::heat_of(self, j);
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<double> const mine(w.local().begin() + row, w.local().begin() + 2 * row);
      pgas::fence epoch{w};
      if (team.rank() > 0) epoch.put(team.rank() - 1, 2 * row, mine);
      if (team.rank() + 1 < ranks) epoch.put(team.rank() + 1, 0, mine);
      epoch.close();
      auto const u = [cells = w.local()](std::size_t i, std::size_t j) {
        return cells[(i + 1) * row + j + 1];
      };
      std::vector<double> next(cols);
      for (std::size_t j = 0; j < cols; ++j) next[j] = cooled(u, 0, j);
      team.barrier();  // all have read
      std::copy(next.begin(), next.end(), w.local().begin() + row + 1);
    }
    for (std::size_t j = 0; j < cols; ++j)
      require_equal(w.local()[row + 1 + j], expected(self, j), "a cell of the plate");
  });
  CHECK(simulated::last_totals().ranks == ranks);
}

TEST_CASE("simulated: random programs give byte-equal values") {
  random_programs::play_on<std::tuple<simulated_model>>();
}

}  // namespace
}  // namespace pgas_test
