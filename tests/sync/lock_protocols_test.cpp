// SPDX-License-Identifier: BSL-1.0
// The promises of each lock protocol in every order of a few ranks on the emulated chip: its cost, its
// fairness, and the need for each of its steps. The errors of the papers are among the mutants.
// test: optimized, unit protocols
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "conformance/make.hpp"
#include "support/lock_program.hpp"
#include "support/watched_control.hpp"

using namespace pgas_test;
using namespace pgas_test::locks;
using pgas::word;
namespace scc = pgas::scc;

namespace {

/// The ranks in each part. The cores of the chip are fibers of one thread, so they always agree on data
/// outside the chip's memory.
struct part_state {
  int readers = 0;
  int writers = 0;
};

/// Runs a program on the chip; returns the fault that it found, or nothing.
template <class Protocol, class Watcher = watcher>
std::string play(program const& what) {
  auto const ranks = static_cast<rank_t>(what.size());
  std::vector<part_state> parts(what.size());
  std::string wrong;
  try {
    pgas_test::launch<pgas::backends::scc>(ranks, [&](auto& mine, auto& boot) {
      auto const own = Protocol::words(ranks);
      auto words = make_control(mine, boot, "locks", own + pgas::control_words{.slots = 0, .cells = 1});
      Watcher watches;
      watched_control<decltype(words), Watcher> control(words, watches);
      typename Protocol::template on<decltype(control)> protocol(control, {});
      pgas::no_boundary nothing;
      auto const check = [&](bool is_right, char const* sentence) {
        if (!is_right) throw std::runtime_error(sentence);
      };
      auto const look_around = [&] {
        static_cast<void>(words.cell(mine.rank(), own.cells).load(std::memory_order_relaxed));
      };
      auto const read = [&](rank_t target) {
        auto& part = parts[static_cast<std::size_t>(target)];
        ++part.readers;
        check(part.writers == 0, "a shared holder beside an exclusive one");
        look_around();
        check(part.writers == 0, "a shared holder beside an exclusive one");
        --part.readers;
      };
      auto const write = [&](rank_t target) {
        auto& part = parts[static_cast<std::size_t>(target)];
        ++part.writers;
        check(part.writers == 1 && part.readers == 0, "an exclusive holder beside another");
        look_around();
        check(part.writers == 1 && part.readers == 0, "an exclusive holder beside another");
        --part.writers;
      };
      take_steps(protocol, what[static_cast<std::size_t>(mine.rank())], ranks, read, write);
      boot.fence();
      // The next rank finds the lock free.
      if (mine.rank() == ranks - 1) {
        for (rank_t target = 0; target < ranks; ++target) {
          check(protocol.try_lock(target, lock_kind::exclusive, nothing), "it is not free at the end");
          protocol.unlock(target, lock_kind::exclusive, nothing);
        }
      }
    });
  } catch (std::exception const& e) {
    wrong = e.what();
  }
  return wrong;
}

/// A search makes a chip for each order. Returning its memory to the system each time costs more than the
/// run.
[[maybe_unused]] bool const keeps_memory =
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && ::mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;

/// The time that a test case may search.
double seconds_to_search() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

struct found {
  long runs = 0;
  bool all = false;
  std::string wrong;
};

/// Plays a program in each order with up to `switches` changes of turns, until it finds a fault or time is
/// up.
template <class Protocol, class Watcher = watcher>
found search(program const& what, std::size_t switches, double seconds) {
  auto const started = std::chrono::steady_clock::now();
  scc::decisions script;
  script.most_switches = switches;
  scc::options how;
  how.schedule = scc::scheduling::script;
  how.script = &script;
  scc::with_options const emulated(how);
  found f;
  do {
    ++f.runs;
    f.wrong = play<Protocol, Watcher>(what);
    if (!f.wrong.empty()) return f;
    f.all = !script.next();
  } while (!f.all &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() < seconds);
  return f;
}

/// Like search, in orders made from priorities and a few changes of them.
template <class Protocol, class Watcher = watcher>
found try_seeds(program const& what, std::uint64_t seeds) {
  found f;
  for (std::uint64_t seed = 0; seed < seeds && f.wrong.empty(); ++seed, ++f.runs) {
    scc::options how;
    how.seed = seed;
    how.schedule = seed % 2 == 0 ? scc::scheduling::priority : scc::scheduling::random;
    scc::with_options const emulated(how);
    f.wrong = play<Protocol, Watcher>(what);
    if (!f.wrong.empty()) f.wrong += " (seed " + std::to_string(seed) + ")";
  }
  return f;
}

}  // namespace

TEST_CASE(
    "locks: no rank coincides with an exclusive holder or waits for ever, in every order with few changes of "
    "turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  double const seconds = seconds_to_search() / 100;
  with_each([&]<class Protocol>(Protocol) {
    long runs = 0;
    int complete = 0;
    int searches = 0;
    for (std::size_t const switches : {2U, 3U}) {
      auto const each = [&](program const& what) {
        found const f = search<Protocol>(what, switches, seconds);
        CHECK_MESSAGE(f.wrong == "", Protocol::name, ", program ", searches, " after ", f.runs,
                      " orders: ", f.wrong);
        runs += f.runs;
        complete += f.all ? 1 : 0;
        ++searches;
      };
      for (program const& what : of_two()) each(what);
      for (program const& what : of_three()) each(what);
    }
    std::cout << "covered: " << Protocol::name << ", " << runs << " orders, " << complete << " of "
              << searches << " searches to their end\n";
  });
}

TEST_CASE(
    "locks: no rank coincides with an exclusive holder or waits for ever, for up to eight ranks and many "
    "seeds") {
  if (!chosen(pgas::backends::scc::name)) return;
  with_each([]<class Protocol>(Protocol) {
    for (rank_t const ranks : {4, 8}) {
      program what(static_cast<std::size_t>(ranks));
      random_source rng(static_cast<std::uint64_t>(ranks));
      for (auto& steps : what) {
        for (int i = 0; i < 6; ++i) {
          auto const which = std::array{act::exclusive, act::exclusive,     act::shared,    act::shared,
                                        act::all,       act::try_exclusive, act::try_shared}[rng.below(7)];
          steps.push_back({which, static_cast<rank_t>(rng.below(2))});
        }
      }
      found const f = try_seeds<Protocol>(what, 60);
      CHECK_MESSAGE(f.wrong == "", Protocol::name, " on ", ranks, " ranks: ", f.wrong);
    }
  });
}

// Costs, counted on words that no other rank uses.

namespace {

/// The protocol that remains once the bias towards lock_all has ended.
template <class Protocol>
struct after_bias {
  using type = Protocol;
};
template <class Lock>
struct after_bias<pgas::sync::biased<Lock>> {
  using type = Lock;
};
template <class Protocol>
using after_bias_t = typename after_bias<Protocol>::type;

struct counts {
  long modified = 0;  ///< read-modify-writes
  long stored = 0;    ///< stores, and resets
  long loaded = 0;
  friend bool operator==(counts const&, counts const&) = default;
};
std::ostream& operator<<(std::ostream& out, counts const& c) {
  return out << c.modified << " read-modify-writes, " << c.stored << " stores, " << c.loaded << " loads";
}

struct counting : watcher {
  counts all;
  template <class Word>
  word load(Word const& w, word_access, std::memory_order order) {
    return ++all.loaded, w.load(order);
  }
  template <class Slot>
  void store(Slot const& slot, word_access, word value, std::memory_order order) {
    ++all.stored, slot.store(value, order);
  }
  template <class Cell>
  void reset_unshared(Cell const& c, word_access, word value, std::memory_order order) {
    ++all.stored, c.reset_unshared(value, order);
  }
  template <class Cell>
  word fetch_add(Cell const& c, word_access, word value, std::memory_order order) {
    return ++all.modified, c.fetch_add(value, order);
  }
  template <class Cell>
  word fetch_xor(Cell const& c, word_access, word value, std::memory_order order) {
    return ++all.modified, c.fetch_xor(value, order);
  }
  template <class Cell>
  word exchange(Cell const& c, word_access, word value, std::memory_order order) {
    return ++all.modified, c.exchange(value, order);
  }
  template <class Cell>
  bool compare_exchange(Cell const& c, word_access, word& expected, word desired, std::memory_order order) {
    return ++all.modified, c.compare_exchange(expected, desired, order);
  }
  counts take() { return std::exchange(all, {}); }
};

/// The cost to get a free lock and to release it.
struct lock_cost {
  counts get;
  counts let_go;
  friend bool operator==(lock_cost const&, lock_cost const&) = default;
};
std::ostream& operator<<(std::ostream& out, lock_cost const& c) { return out << c.get << "; " << c.let_go; }

/// Calls use(protocol, watcher) on rank 0 of `ranks`; the other ranks do nothing.
template <class Protocol, class Use>
void alone(rank_t ranks, Use const& use) {
  pgas_test::launch<pgas::backends::scc>(ranks, [&](auto& mine, auto& boot) {
    auto words = make_control(mine, boot, "locks", Protocol::words(ranks));
    counting counter;
    watched_control<decltype(words), counting> control(words, counter);
    typename Protocol::template on<decltype(control)> protocol(control, {});
    if (mine.rank() == 0) use(protocol, counter);
    boot.fence();
  });
}

template <class Protocol>
lock_cost cost_of(rank_t ranks, lock_kind kind) {
  lock_cost cost;
  alone<Protocol>(ranks, [&](auto& protocol, counting& counter) {
    pgas::no_boundary nothing;
    hold(protocol, 1, kind, nothing);
    cost.get = counter.take();
    protocol.unlock(1, kind, nothing);
    cost.let_go = counter.take();
  });
  return cost;
}

template <class Protocol>
lock_cost cost_of_all(rank_t ranks) {
  lock_cost cost;
  alone<Protocol>(ranks, [&](auto& protocol, counting& counter) {
    pgas::no_boundary nothing;
    protocol.lock_all(nothing);
    for (rank_t target = 0; target < ranks; ++target) protocol.trigger(target, nothing);
    cost.get = counter.take();
    protocol.unlock_all(nothing);
    cost.let_go = counter.take();
  });
  return cost;
}

}  // namespace

TEST_CASE(
    "locks: without conflict, each costs the accesses that its header states, and lock_all at most those of "
    "all "
    "parts") {
  if (!chosen(pgas::backends::scc::name)) return;
  using enum lock_kind;
  using pgas::sync::bakery;
  using pgas::sync::lock_messages;
  using pgas::sync::mcs;
  using pgas::sync::mcs_wp;
  using pgas::sync::queued;
  constexpr rank_t n = 5;
  CHECK(cost_of<queued>(n, exclusive) == lock_cost{{1, 0, 1}, {0, 1, 0}});
  CHECK(cost_of<queued>(n, shared) == lock_cost{{1, 0, 1}, {1, 0, 0}});
  CHECK(cost_of<mcs>(n, exclusive) == lock_cost{{1, 2, 1}, {1, 0, 1}});
  CHECK(cost_of<mcs>(n, shared) == lock_cost{{3, 2, 0}, {2, 0, 1}});
  CHECK(cost_of<mcs_wp>(n, exclusive) == lock_cost{{3, 3, 0}, {2, 0, 1}});
  CHECK(cost_of<mcs_wp>(n, shared) == lock_cost{{1, 0, 1}, {1, 0, 0}});
  CHECK(cost_of<bakery>(n, exclusive) == lock_cost{{0, 2, 2 * (n - 1)}, {0, 1, 0}});
  CHECK(cost_of<bakery>(n, shared) == lock_cost{{0, 2, 2 * (n - 1)}, {0, 1, 0}});
  CHECK(cost_of<lock_messages>(n, exclusive) == lock_cost{{2, 7, 4 * n + 8}, {2, 3, 4 * n + 3}});
  CHECK(cost_of<lock_messages>(n, shared) == lock_cost{{2, 7, 4 * n + 8}, {2, 3, 4 * n + 3}});
  with_each([]<class Protocol>(Protocol) {
    if constexpr (Protocol::name.starts_with("two_level")) {
      CHECK(cost_of<Protocol>(n, exclusive) == lock_cost{{2, 0, 0}, {2, 0, 0}});
      CHECK(cost_of<Protocol>(n, shared) == lock_cost{{1, 0, 0}, {1, 0, 0}});
      CHECK(cost_of_all<Protocol>(n) == lock_cost{{1, 0, 0}, {1, 0, 0}});
    }
  });
  // Further exclusive locks of two_level are not counted at the master.
  alone<pgas::sync::two_level<>>(n, [](auto& protocol, counting& counter) {
    pgas::no_boundary nothing;
    hold(protocol, 1, exclusive, nothing);
    counter.take();
    hold(protocol, 2, exclusive, nothing);
    CHECK(counter.take() == counts{1, 0, 0});
    protocol.unlock(1, exclusive, nothing);
    CHECK(counter.take() == counts{1, 0, 0});
    protocol.unlock(2, exclusive, nothing);
    CHECK(counter.take() == counts{2, 0, 0});
  });
  // While the bias lasts, lock_all has words of its own rank only. The first exclusive lock tells all ranks.
  using pgas::sync::biased;
  CHECK(cost_of_all<biased<queued>>(n) == lock_cost{{1, 0, 0}, {0, 1, 0}});
  CHECK(cost_of_all<biased<bakery>>(n) == lock_cost{{0, 1, n}, {0, 1, 0}});
  CHECK(cost_of<biased<queued>>(n, shared) == cost_of<queued>(n, shared));
  CHECK(cost_of<biased<queued>>(n, exclusive) == lock_cost{{1 + n + 1, 0, 1 + 2 * n + 1 + 1}, {0, 1, 0}});
  CHECK(cost_of<biased<bakery>>(n, exclusive) == lock_cost{{0, 2 + n, 2 * (n - 1) + n}, {0, 1, 0}});
  with_each([]<class Protocol>(Protocol) {
    alone<Protocol>(n, [](auto& protocol, counting& counter) {
      pgas::no_boundary nothing;
      hold(protocol, 2, exclusive, nothing);
      protocol.unlock(2, exclusive, nothing);
      counter.take();
      hold(protocol, 1, exclusive, nothing);
      protocol.unlock(1, exclusive, nothing);
      auto const inner = cost_of<after_bias_t<Protocol>>(n, exclusive);
      auto const later = counter.take();
      if constexpr (!std::is_same_v<Protocol, after_bias_t<Protocol>>) {
        CHECK(later == counts{inner.get.modified + inner.let_go.modified,
                              inner.get.stored + inner.let_go.stored,
                              inner.get.loaded + inner.let_go.loaded});
      }
    });
  });
  with_each([]<class Protocol>(Protocol) {
    auto const one = cost_of<Protocol>(n, shared);
    auto const all = cost_of_all<Protocol>(n);
    CHECK_MESSAGE(all.get.modified <= n * one.get.modified, Protocol::name);
    CHECK_MESSAGE(all.let_go.modified <= n * one.let_go.modified, Protocol::name);
    CHECK_MESSAGE(all.get.loaded <= n * one.get.loaded, Protocol::name);
  });
}

namespace {

struct gate_of_waits {
  bool open = true;
  int before = 0;  ///< the number of waits that have come to it
};

/// A control whose waits begin when a gate is open, and return the word's last value.
template <class Control>
struct gated_control : watched_control<Control, watcher> {
  gated_control(Control& inner, watcher& watches, gate_of_waits& gate)
      : watched_control<Control, watcher>(inner, watches), inner_(&inner), gate_(&gate) {}

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, pgas::waiting_for const& why) {
    ++gate_->before;
    while (!gate_->open) inner_->pause(0, why);
    // A wait of the chip may return an older value that satisfies the predicate.
    for (;; inner_->pause(0, why)) {
      if (word const seen = w.load(std::memory_order_acquire); predicate(seen)) return seen;
    }
  }

 private:
  Control* inner_;
  gate_of_waits* gate_;
};

}  // namespace

TEST_CASE("locks: the first rank in queued's queue leaves a part to shared holders that went past it") {
  using pgas::sync::queued;
  if (!chosen(pgas::backends::scc::name)) return;
  gate_of_waits gate{.open = false};
  bool held = false;
  bool entered = false;
  pgas_test::launch<pgas::backends::scc>(2, [&](auto& mine, auto& boot) {
    auto words = make_control(mine, boot, "locks", queued::words(2));
    watcher watches;
    gated_control<decltype(words)> control(words, watches, gate);
    queued::on<decltype(control)> protocol(control, {});
    pgas::no_boundary nothing;
    auto const until = [&](auto const& condition) {
      while (!condition()) words.pause(0, {.operation = "turn"});
    };
    if (mine.rank() == 1) {
      until([&] { return held; });
      protocol.lock(0, lock_kind::exclusive, nothing);
      entered = true;
      protocol.unlock(0, lock_kind::exclusive, nothing);
    } else {
      protocol.lock(0, lock_kind::exclusive, nothing);
      held = true;
      until([&] { return gate.before == 1; });
      protocol.unlock(0, lock_kind::exclusive, nothing);
      protocol.lock(0, lock_kind::shared, nothing);
      gate.open = true;
      until([&] { return gate.before == 2 || entered; });  // it has found the shared lock
      CHECK(!entered);
      protocol.unlock(0, lock_kind::shared, nothing);
    }
    boot.fence();
  });
  CHECK(entered);
}

// The ranks that may be overtaken, and the number of times.

namespace {

/// Notes the time at which an exclusive request becomes visible to the other ranks.
template <class Protocol>
struct announced : watcher {
  long* entries = nullptr;  // entries of all ranks so far
  long at = -1;             // that number when this rank announced itself

  void note() {
    if (at < 0) at = *entries;
  }
  template <class Cell>
  word exchange(Cell const& c, word_access where, word value, std::memory_order order) {
    word const before = c.exchange(value, order);
    bool const is_tail = (std::is_same_v<after_bias_t<Protocol>, pgas::sync::queued> && where.index == 1) ||
                         (std::is_same_v<Protocol, pgas::sync::mcs> && where.index == 0) ||
                         (std::is_same_v<Protocol, pgas::sync::mcs_wp> && where.index == 2);
    if (is_tail) note();
    return before;
  }
  template <class Slot>
  void store(Slot const& slot, word_access, word value, std::memory_order order) {
    slot.store(value, order);
    if (value > 1) note();  // a ticket of bakery
  }
  template <class Cell>
  word fetch_add(Cell const& c, word_access where, word value, std::memory_order order) {
    word const before = c.fetch_add(value, order);
    if (Protocol::name.starts_with("two_level") && where.index == 0) note();  // on the master
    return before;
  }
};

/// The largest number of other ranks' entries between a rank's announcement and its own entry, over many
/// orders.
template <class Protocol>
long most_overtaken(rank_t ranks, int rounds, std::uint64_t seeds) {
  long most = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    scc::options how;
    how.seed = seed;
    how.schedule = seed % 4 == 3 ? scc::scheduling::priority : scc::scheduling::random;
    scc::with_options const emulated(how);
    long entries = 0;
    pgas_test::launch<pgas::backends::scc>(ranks, [&](auto& mine, auto& boot) {
      auto words = make_control(mine, boot, "locks", Protocol::words(ranks));
      announced<Protocol> watches;
      watches.entries = &entries;
      watched_control<decltype(words), announced<Protocol>> control(words, watches);
      typename Protocol::template on<decltype(control)> protocol(control, {});
      pgas::no_boundary nothing;
      for (int round = 0; round < rounds; ++round) {
        watches.at = -1;
        hold(protocol, 0, lock_kind::exclusive, nothing);
        if (watches.at >= 0) most = std::max(most, entries - watches.at);
        ++entries;
        protocol.unlock(0, lock_kind::exclusive, nothing);
      }
      boot.fence();
    });
  }
  return most;
}

/// A control whose ranks share a given number of cores, and which counts pauses.
template <class Control>
struct control_on_cores : watched_control<Control, watcher> {
  using base = watched_control<Control, watcher>;
  control_on_cores(Control& inner, watcher& watches, rank_t cores, long& pauses)
      : base(inner, watches), cores_(cores), pauses_(&pauses) {}

  [[nodiscard]] rank_t most_at_once() const noexcept { return cores_; }
  void pause(unsigned attempt, pgas::waiting_for const& why) {
    ++*pauses_;
    base::pause(attempt, why);
  }

 private:
  rank_t cores_;
  long* pauses_;
};

/// The number of pauses while all ranks take one part that often, over many orders.
long pauses_of_contended(rank_t ranks, rank_t cores, int times) {
  long pauses = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    scc::options how;
    how.seed = seed;
    how.schedule = scc::scheduling::random;
    scc::with_options const emulated(how);
    int holders = 0;
    pgas_test::launch<pgas::backends::scc>(ranks, [&](auto& mine, auto& boot) {
      auto words = make_control(mine, boot, "locks", pgas::sync::queued::words(ranks));
      watcher watches;
      control_on_cores<decltype(words)> control(words, watches, cores, pauses);
      pgas::sync::queued::on<decltype(control)> protocol(control, {});
      pgas::no_boundary nothing;
      for (int i = 0; i < times; ++i) {
        protocol.lock(0, lock_kind::exclusive, nothing);
        if (++holders != 1) throw std::runtime_error("two exclusive holders");
        static_cast<void>(words.cell(mine.rank(), 0).load(std::memory_order_relaxed));
        --holders;
        protocol.unlock(0, lock_kind::exclusive, nothing);
      }
      boot.fence();
    });
  }
  return pauses;
}

/// Two ranks hold a part shared by turns, each until the other does, so it is never free. After the first
/// turn a third rank asks for it exclusively. Returns the turn, of `turns`, in which the third rank got it.
template <class Protocol>
int turns_until_writer_enters(int turns) {
  int turn = 0;
  int entered = -1;
  bool asked = false;
  pgas_test::launch<pgas::backends::scc>(3, [&](auto& mine, auto& boot) {
    auto words = make_control(mine, boot, "locks", Protocol::words(3));
    announced<Protocol> watches;
    long nothing_counted = 0;
    watches.entries = &nothing_counted;
    watched_control<decltype(words), announced<Protocol>> control(words, watches);
    typename Protocol::template on<decltype(control)> protocol(control, {});
    pgas::no_boundary nothing;
    auto const until = [&](auto const& condition) {
      while (!condition()) words.pause(0, {.operation = "turn"});
    };
    if (mine.rank() < 2) {
      for (int own = mine.rank(); own < turns; own += 2) {
        until([&] { return turn >= own; });
        hold(protocol, 0, lock_kind::shared, nothing);
        if (own == 0) until([&] { return asked; });
        turn = own + 1;  // the other rank may come
        until([&] { return own + 1 == turns || turn >= own + 2; });
        protocol.unlock(0, lock_kind::shared, nothing);
      }
    } else {
      until([&] { return turn == 0 && words.cell(0, 1).load(std::memory_order_relaxed) != 0; });
      asked = !protocol.try_lock(0, lock_kind::exclusive, nothing);
      hold(protocol, 0, lock_kind::exclusive, nothing);
      entered = turn;
      protocol.unlock(0, lock_kind::exclusive, nothing);
    }
    boot.fence();
  });
  return entered;
}

}  // namespace

TEST_CASE(
    "locks: in a queue, each other rank overtakes at most as often as its header states; two_level has no "
    "such bound") {
  if (!chosen(pgas::backends::scc::name)) return;
  with_each([]<class Protocol>(Protocol) {
    constexpr rank_t ranks = 4;
    long each = 1;
    if constexpr (requires { after_bias_t<Protocol>::most_passes; })
      each += after_bias_t<Protocol>::most_passes;
    long const most = most_overtaken<Protocol>(ranks, static_cast<int>(2 * each) + 10, 100);
    std::cout << Protocol::name << ": overtaken " << most << " times at most, by " << ranks - 1
              << " others\n";
    if (Protocol::name.starts_with("two_level")) {
      CHECK_MESSAGE(most > (ranks - 1) * each, Protocol::name, ": ", most);
    } else {
      CHECK_MESSAGE(most > 0, Protocol::name, " was not tried");
      CHECK_MESSAGE(most <= (ranks - 1) * each, Protocol::name, ": ", most);
    }
  });
}

TEST_CASE("locks: the first rank in queued's queue pauses if it has gone past others, and has a core") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(pauses_of_contended(3, 3, 20) > 0);
  CHECK(pauses_of_contended(3, 2, 20) == 0);  // ranks share cores
  CHECK(pauses_of_contended(3, 3, 1) == 0);   // no rank comes back
}

TEST_CASE("locks: while shared holders come and go, a writer of two_level waits for ever") {
  if (!chosen(pgas::backends::scc::name)) return;
  with_each([]<class Protocol>(Protocol) {
    if constexpr (Protocol::name.starts_with("two_level")) {
      for (int const turns : {3, 10, 100}) CHECK(turns_until_writer_enters<Protocol>(turns) == turns);
    }
  });
}

namespace {

/// Notes the order in which ranks announce themselves.
template <class Protocol>
struct noting : announced<Protocol> {
  std::vector<rank_t>* joined = nullptr;
  template <class Cell>
  word exchange(Cell const& c, word_access where, word value, std::memory_order order) {
    long const before = this->at;
    word const found = announced<Protocol>::exchange(c, where, value, order);
    if (before < 0 && this->at >= 0) joined->push_back(where.by);
    return found;
  }
};

/// The orders of announcements and of entries when all ranks ask for exclusive locks on one part.
template <class Protocol>
std::pair<std::vector<rank_t>, std::vector<rank_t>> orders_of(rank_t ranks, std::uint64_t seed) {
  std::pair<std::vector<rank_t>, std::vector<rank_t>> in_order;
  scc::options how;
  how.seed = seed;
  how.schedule = scc::scheduling::random;
  scc::with_options const emulated(how);
  long no_entries = 0;
  pgas_test::launch<pgas::backends::scc>(ranks, [&](auto& mine, auto& boot) {
    auto words = make_control(mine, boot, "locks", Protocol::words(ranks));
    noting<Protocol> watches;
    watches.entries = &no_entries;
    watches.joined = &in_order.first;
    watched_control<decltype(words), noting<Protocol>> control(words, watches);
    typename Protocol::template on<decltype(control)> protocol(control, {});
    pgas::no_boundary nothing;
    for (int round = 0; round < 5; ++round) {
      watches.at = -1;
      hold(protocol, 0, lock_kind::exclusive, nothing);
      in_order.second.push_back(mine.rank());
      protocol.unlock(0, lock_kind::exclusive, nothing);
    }
    boot.fence();
  });
  return in_order;
}

/// One rank holds a part shared, a second asks for it exclusively, then a third asks for it shared. Returns
/// which of the two comes first.
template <class Protocol>
std::string first_behind_a_reader() {
  std::string order;
  int at = 0;
  pgas_test::launch<pgas::backends::scc>(3, [&](auto& mine, auto& boot) {
    auto words = make_control(mine, boot, "locks", Protocol::words(3));
    long no_entries = 0;
    announced<Protocol> watches;
    watches.entries = &no_entries;
    watched_control<decltype(words), announced<Protocol>> control(words, watches);
    typename Protocol::template on<decltype(control)> protocol(control, {});
    pgas::no_boundary nothing;
    auto const until = [&](int stage) {
      while (at < stage) words.pause(3, {.operation = "stage"});
    };
    auto const give_time = [&] {  // the rank that has asked goes as far as it can
      for (int i = 0; i < 50; ++i) words.pause(6, {.operation = "stage"});
    };
    if (mine.rank() == 0) {
      hold(protocol, 0, lock_kind::shared, nothing);
      at = 1;
      give_time();  // the writer waits now
      at = 2;
      give_time();  // the reader waits too, or has come and gone
      protocol.unlock(0, lock_kind::shared, nothing);
    } else {
      until(mine.rank());
      auto const kind = mine.rank() == 1 ? lock_kind::exclusive : lock_kind::shared;
      hold(protocol, 0, kind, nothing);
      order += mine.rank() == 1 ? 'w' : 'r';
      protocol.unlock(0, kind, nothing);
    }
    boot.fence();
  });
  return order;
}

}  // namespace

TEST_CASE(
    "locks: exclusive holders of mcs and mcs_wp follow each other in the order in which they joined the "
    "queue") {
  if (!chosen(pgas::backends::scc::name)) return;
  auto const one = []<class Protocol>(Protocol) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      auto const [joined, entered] = orders_of<Protocol>(5, seed);
      CHECK(joined.size() == 25);
      CHECK_MESSAGE(joined == entered, Protocol::name, ", seed ", seed);
    }
  };
  one(pgas::sync::mcs{});
  one(pgas::sync::mcs_wp{});
}

TEST_CASE("locks: a shared request waits for an earlier exclusive one in queues, and not in two_level") {
  if (!chosen(pgas::backends::scc::name)) return;
  with_each([]<class Protocol>(Protocol) {
    CHECK_MESSAGE(
        first_behind_a_reader<Protocol>() == (Protocol::name.starts_with("two_level") ? "rw" : "wr"),
        Protocol::name);
  });
}
