// SPDX-License-Identifier: BSL-1.0
// Every protocol in every order of two or three ranks with few interruptions, on words that show old values
// as C++ allows. Each memory order is needed, and so is each step. The tests find the errors of the papers.
// test: optimized, early, unit searches
#include "support/weak/model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <iostream>
#include <pgas/collectives/slot_collectives.hpp>
#include <pgas/detail/elements/bulk_accumulate_lock.hpp>
#include <pgas/sync/signal_counts.hpp>
#include <set>

#include "support/lock_program.hpp"
#include "support/watched_control.hpp"
#include "support/weak/exchange.hpp"

using namespace pgas_test;
using namespace pgas_test::locks;
using pgas::word;

// The model itself: the results that C++ allows, and those that it forbids.

namespace {

using ordering = std::memory_order;

/// Every pair of results that two or more ranks reach; words are cells of rank 0.
template <class Body>
std::set<std::pair<word, word>> outcomes(rank_t ranks, std::size_t cells, Body const& body) {
  std::set<std::pair<word, word>> all;
  weak::model m(ranks, {.slots = 0, .cells = cells});
  std::pair<word, word> result;
  std::size_t done = 0;
  std::string const wrong = m.search({8, 4}, 1'000'000, [&](rank_t self) {
    weak::control c(m, self);
    body(self, c, result);
    if (++done % static_cast<std::size_t>(ranks) == 0) all.insert(result);
  });
  CHECK(wrong == "");
  CHECK(m.complete());
  return all;
}

}  // namespace

TEST_CASE("weak: an acquire load that sees a release store also sees the writes before that store") {
  auto const message = [](ordering stores, ordering loads) {
    return outcomes(2, 2, [=](rank_t self, weak::control& c, auto& result) {
      if (self == 0) {
        c.cell(0, 0).reset_unshared(1, ordering::relaxed);
        c.cell(0, 1).fetch_add(1, stores);
      } else {
        result.first = c.cell(0, 1).load(loads);
        result.second = c.cell(0, 0).load(ordering::relaxed);
      }
    });
  };
  std::set<std::pair<word, word>> const right{{0, 0}, {0, 1}, {1, 1}};
  auto stale = right;
  stale.insert({1, 0});
  CHECK(message(ordering::release, ordering::acquire) == right);
  CHECK(message(ordering::seq_cst, ordering::seq_cst) == right);
  CHECK(message(ordering::release, ordering::relaxed) == stale);
  CHECK(message(ordering::relaxed, ordering::acquire) == stale);
  CHECK(message(ordering::acquire, ordering::release) == stale);
}

TEST_CASE(
    "weak: of two ranks that store and then load the other's word, one is sure to see the store only with "
    "seq_cst") {
  auto const both = [](ordering stores, ordering loads) {
    return outcomes(2, 2, [=](rank_t self, weak::control& c, auto& result) {
      auto const mine = static_cast<std::size_t>(self);
      c.cell(0, mine).reset_unshared(1, stores);
      (self == 0 ? result.first : result.second) = c.cell(0, 1 - mine).load(loads);
    });
  };
  CHECK(both(ordering::seq_cst, ordering::seq_cst).count({0, 0}) == 0);
  CHECK(both(ordering::release, ordering::acquire).count({0, 0}) == 1);
  CHECK(both(ordering::seq_cst, ordering::acquire).count({0, 0}) == 1);
  CHECK(both(ordering::seq_cst, ordering::seq_cst).size() == 3);
}

TEST_CASE("weak: the values of one word are seen in their order, with any memory order") {
  auto const seen = outcomes(2, 1, [](rank_t self, weak::control& c, auto& result) {
    auto const w = c.cell(0, 0);
    if (self == 0) {
      w.reset_unshared(1, ordering::relaxed);
      w.reset_unshared(2, ordering::relaxed);
    } else {
      result = {w.load(ordering::relaxed), 0};
      result.second = w.load(ordering::relaxed);
    }
  });
  CHECK(seen == std::set<std::pair<word, word>>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
}

TEST_CASE("weak: a read-modify-write continues the release sequence, and no update is lost") {
  auto const seen = outcomes(3, 2, [](rank_t self, weak::control& c, auto& result) {
    auto const data = c.cell(0, 0);
    auto const count = c.cell(0, 1);
    if (self == 0) {
      data.reset_unshared(1, ordering::relaxed);
      count.fetch_add(1, ordering::release);
    } else if (self == 1) {
      count.fetch_add(2, ordering::relaxed);
    } else {
      result.first = count.load(ordering::acquire);
      result.second = data.load(ordering::relaxed);
    }
  });
  CHECK(seen == std::set<std::pair<word, word>>{{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}, {3, 1}});
}

TEST_CASE("weak: a lost write, a forbidden meeting and an endless wait are violations") {
  auto const wrong = [](auto const& body) {
    weak::model m(2, {.slots = 0, .cells = 1});
    return m.search({2, 1}, 100'000, [&](rank_t self) {
      weak::control c(m, self);
      body(self, c, m);
    });
  };
  CHECK(wrong([](rank_t, weak::control& c, weak::model&) {
          c.cell(0, 0).reset_unshared(1, ordering::seq_cst);
        }) != "");
  CHECK(wrong([](rank_t self, weak::control& c, weak::model&) {
          if (self == 0) {
            c.cell(0, 0).reset_unshared(1, ordering::release);
          } else {
            c.cell(0, 0).fetch_add(1, ordering::acquire);
          }
        }) != "");
  CHECK(wrong([](rank_t, weak::control& c, weak::model&) { c.cell(0, 0).fetch_add(1, ordering::relaxed); }) ==
        "");
  CHECK(wrong([](rank_t self, weak::control&, weak::model& m) { m.write(self, 0); }) != "");
  CHECK(wrong([](rank_t self, weak::control&, weak::model& m) { m.read(self, 0); }) == "");
  CHECK(wrong([](rank_t self, weak::control&, weak::model& m) {
          self == 0 ? m.read(self, 0) : m.write(self, 0);
        }) != "");
  CHECK(wrong([](rank_t self, weak::control& c, weak::model&) {
          auto const w = c.cell(0, 0);
          c.wait_until(w, [self](word seen) { return seen == static_cast<word>(self); }, {});
          w.fetch_add(2, ordering::relaxed);
        }) == "all wait for each other");
}

namespace {

/// The stages of a search: it begins with small bounds, which are quickly done.
constexpr weak::bounds steps_out[] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}};

/// The number of runs that one search may take: some seconds for all searches of a test case, or more on
/// request. Fewer would miss errors that must be found.
long runs_for(double share) {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return static_cast<long>(std::max(budget != nullptr ? std::atof(budget) : 2.0, 2.0) * share * 50'000);
}

struct found {
  long runs = 0;
  std::size_t complete = 0;  ///< of steps_out
  std::string wrong;
};

/// The words of a protocol that are alike.
template <class Protocol>
std::size_t alike(rank_t ranks, bool is_cell, std::size_t i) {
  if constexpr (std::is_same_v<Protocol, pgas::sync::mcs>) return i < 2 ? i : 2 + i % 2;
  if constexpr (std::is_same_v<Protocol, pgas::sync::mcs_wp>) return std::min<std::size_t>(i, 5);
  if constexpr (std::is_same_v<Protocol, pgas::sync::bakery>) return 0;
  if constexpr (std::is_same_v<Protocol, pgas::sync::biased<pgas::sync::bakery>>) {
    auto const n = static_cast<std::size_t>(ranks);
    return i < n ? 0 : i == n ? 1 : 2;
  }
  if constexpr (Protocol::name.ends_with("lock_messages")) {
    return !is_cell ? 0 : i < 5 ? i : 5 + (i - 5) / static_cast<std::size_t>(ranks);
  }
  return i;
}

/// Searches a program for a fault, in stages, for a number of runs.
template <class Protocol, class Watcher = watcher>
found search(program const& what, long most, weak::weakened const* weaker = nullptr,
             std::map<weak::site, long>* sites = nullptr) {
  found f;
  weak::model m(static_cast<rank_t>(what.size()), Protocol::words(static_cast<rank_t>(what.size())));
  m.weaken(weaker);
  m.call_alike(alike<Protocol>);
  for (weak::bounds const within : steps_out) {
    f.wrong = m.search(within, most - m.runs(), [&](rank_t self) {
      weak::control words(m, self);
      Watcher watches;
      watched_control<weak::control, Watcher> control(words, watches);
      typename Protocol::template on<decltype(control)> protocol(control, {});
      take_steps(
          protocol, what[static_cast<std::size_t>(self)], m.size(),
          [&](rank_t target) { m.read(self, target); }, [&](rank_t target) { m.write(self, target); });
    });
    if (!f.wrong.empty() || !m.complete()) break;
    ++f.complete;
  }
  f.runs = m.runs();
  if (sites != nullptr) {
    for (auto const& [site, count] : m.sites()) (*sites)[site] += count;
  }
  return f;
}

std::vector<program> all_programs() {
  auto all = of_two();
  for (auto& p : of_three()) all.push_back(p);
  all.push_back(of_four());
  return all;
}

}  // namespace

TEST_CASE("weak: locks are right in every order, with any old values that words may show" *
          doctest::test_suite("long")) {
  with_each([]<class Protocol>(Protocol) {
    long runs = 0;
    std::size_t complete = 0;
    for (program const& what : all_programs()) {
      found const f = search<Protocol>(what, runs_for(0.1));
      CHECK_MESSAGE(f.wrong == "", Protocol::name, ": ", f.wrong);
      runs += f.runs;
      complete += f.complete;
    }
    std::cout << "covered: " << Protocol::name << ", " << runs << " runs, " << complete
              << " bounds to their end\n";
  });
}

namespace {

constexpr word negative(word value) { return word{0} - value; }
constexpr bool is_small_negative(word value) { return value > negative(word{1} << 31U); }

/// Christgau and Schnor 2019, section 4.2: unlock sets the counter to zero.
struct gbh_stores_zero : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access at, word value, std::memory_order order) {
    if (at.index == 1 && is_small_negative(value)) return c.exchange(0, order);
    return c.fetch_add(value, order);
  }
};

/// The same text: unlock of an exclusive lock changes the local counter; the text does not mention the
/// master's.
struct gbh_leaves_the_master : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access at, word value, std::memory_order order) {
    if (at.index == 0 && value == negative(1) && order == std::memory_order_release) return c.load(order);
    return c.fetch_add(value, order);
  }
};

/// Mellor-Crummey and Scott 1991, with a shared request that does not wait behind a waiting one.
struct mcs_readers_pass : watcher {
  template <class Cell>
  bool compare_exchange(Cell const& c, word_access at, word& expected, word desired,
                        std::memory_order order) {
    if (at.index >= 2 && desired == 2) return false;
    return c.compare_exchange(expected, desired, order);
  }
};

/// Mellor-Crummey and Scott 1991 as often transcribed: the rank that lets readers in adds, then loads the
/// state again.
struct mcs_wp_looks_again : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access at, word value, std::memory_order order) {
    word const before = c.fetch_add(value, order);
    if (at.index == 0 && value == 4) return c.load(std::memory_order_acquire) - value;
    return before;
  }
};

/// The rank that lets readers in leaves the door open for a writer that left the door to them.
struct mcs_wp_leaves_the_door : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access at, word value, std::memory_order order) {
    word const before = c.fetch_add(value, order);
    return at.index == 0 && value == 4 ? before | 2U : before;  // as if the door were closed already
  }
};

/// A writer does not check whether readers are being let in.
struct mcs_wp_overlooks_the_list : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access at, word value, std::memory_order order) {
    word const before = c.fetch_add(value, order);
    return at.index == 0 && value == 1 ? before & ~word{4} : before;
  }
};

/// Lamport 1974 without the word that marks a rank as choosing.
struct bakery_without_choosing : watcher {
  template <class Slot>
  void store(Slot const& slot, word_access, word value, std::memory_order order) {
    if (value != 1) slot.store(value, order);
  }
};

/// A ticket is no later than the last one.
struct bakery_with_old_tickets : watcher {
  template <class Slot>
  void store(Slot const& slot, word_access, word value, std::memory_order order) {
    slot.store(value < 4 ? value : 4 + value % 4, order);
  }
};

/// The receiver for a target leaves without checking whether another rank rang in the meantime.
struct messages_unheard : watcher {
  template <class Cell>
  bool compare_exchange(Cell const& c, word_access, word&, word desired, std::memory_order order) {
    c.exchange(desired, order);
    return true;
  }
};

/// Again "unlock sets the counter to zero", here on the side that receives messages.
struct messages_empty_the_part : watcher {
  template <class Cell>
  void reset_unshared(Cell const& c, word_access at, word value, std::memory_order order) {
    bool const leaves = at.index == 2 && value < c.load(std::memory_order_relaxed);
    c.reset_unshared(leaves ? 0 : value, order);
  }
};

/// Plays programs until one shows that the mutant is wrong; returns the sentence that it shows.
template <class Protocol, class Mutant>
std::string killed_by() {
  for (program const& what : all_programs()) {
    if (auto f = search<Protocol, Mutant>(what, runs_for(0.3)); !f.wrong.empty()) return f.wrong;
  }
  return {};
}

}  // namespace

TEST_CASE("weak: locks: the search finds the errors of the papers and the lack of each step" *
          doctest::test_suite("long")) {
  using pgas::sync::two_level;
  using pgas::sync::waiting_readers;
  auto const must_die = []<class Protocol, class Mutant>(Protocol, Mutant, char const* mutant) {
    std::string const why = killed_by<Protocol, Mutant>();
    CHECK_MESSAGE(why != "", mutant, " is not found");
    std::cout << "killed: " << mutant << ": " << why << "\n";
  };
  must_die(two_level<>{}, gbh_stores_zero{}, "two_level, unlock stores zero");
  must_die(two_level<waiting_readers::undo>{}, gbh_stores_zero{}, "two_level with undo, unlock stores zero");
  must_die(two_level<>{}, gbh_leaves_the_master{}, "two_level, unlock leaves the master's count");
  must_die(pgas::sync::mcs{}, mcs_readers_pass{}, "mcs, a reader does not wait behind a waiting one");
  must_die(pgas::sync::mcs_wp{}, mcs_wp_looks_again{}, "mcs_wp, the rank that lets readers in loads again");
  must_die(pgas::sync::mcs_wp{}, mcs_wp_leaves_the_door{},
           "mcs_wp, the rank that lets readers in leaves the door open");
  must_die(pgas::sync::mcs_wp{}, mcs_wp_overlooks_the_list{}, "mcs_wp, a writer overlooks the list");
  must_die(pgas::sync::bakery{}, bakery_without_choosing{}, "bakery, no word says that a rank chooses");
  must_die(pgas::sync::bakery{}, bakery_with_old_tickets{}, "bakery, all tickets are the same");
  must_die(pgas::sync::lock_messages{}, messages_unheard{},
           "lock_messages, the receiver leaves without a check");
  must_die(pgas::sync::lock_messages{}, messages_empty_the_part{},
           "lock_messages, a release empties the part");
}

namespace {

std::vector<std::memory_order> weaker_than(std::memory_order order) {
  switch (order) {
    case std::memory_order_acquire:
    case std::memory_order_release:
      return {std::memory_order_relaxed};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_seq_cst:
      return {std::memory_order_acq_rel};
    default:
      return {};
  }
}

/// The sites of a protocol that may be weaker without a fault.
template <class Protocol>
std::vector<std::string> not_needed() {
  std::map<weak::site, long> sites;
  for (program const& what : all_programs()) search<Protocol>(what, 2000, nullptr, &sites);
  std::vector<std::string> survivors;
  int tried = 0;
  for (auto const& [site, count] : sites) {
    // The control promises that a wait loads with acquire; the protocol does not choose it.
    if (std::string_view(site.what) == "wait") continue;
    for (auto const order : weaker_than(site.order)) {
      weak::weakened const weaker{site, order};
      std::string killed;
      for (program const& what : all_programs()) {
        if (killed = search<Protocol>(what, runs_for(0.1), &weaker).wrong; !killed.empty()) break;
      }
      ++tried;
      if (killed.empty()) survivors.push_back(to_string(site) + " as " + weak::to_string(order));
    }
  }
  std::cout << "weakened: " << Protocol::name << ", " << tried << " orders, of which " << survivors.size()
            << " make no difference\n";
  return survivors;
}

}  // namespace

TEST_CASE("weak: each memory order of each lock protocol is needed" * doctest::test_suite("long")) {
  with_each([]<class Protocol>(Protocol) {
    for (auto const& survivor : not_needed<Protocol>()) {
      CHECK_MESSAGE(survivor == "", Protocol::name, ": no test notices ", survivor);
    }
  });
}

// Fences, and post, start, complete and wait.

namespace {

template <class Protocol>
std::size_t alike_in_active(rank_t ranks, bool, std::size_t i) {
  if constexpr (requires { Protocol::alike(i); }) return Protocol::alike(i);
  if constexpr (std::is_same_v<Protocol, pgas::sync::stamped>)
    return i < static_cast<std::size_t>(ranks) ? 0 : 1;
  if constexpr (std::is_same_v<Protocol, pgas::sync::match_list<128>>) return std::min<std::size_t>(i, 1);
  if constexpr (std::is_same_v<Protocol, pgas::sync::master_slave>) return std::min<std::size_t>(i, 1);
  return 0;
}

/// Rounds of a fence: in each, every rank writes to its own part, then reads those of all other ranks.
struct fence_rounds {
  rank_t ranks;

  template <class Protocol>
  void play(weak::model& m, weak::control& control, Protocol& protocol) const {
    pgas::no_boundary nothing;
    for (int round = 0; round < 2; ++round) {
      m.write(control.rank(), control.rank());
      protocol.fence(nothing, "fence");
      for (rank_t r = 0; r < ranks; ++r) m.read(control.rank(), r);
      protocol.fence(nothing, "fence");
    }
  }
};

/// Epochs, each with the ranks that expose and their origins. Origins read and write the part, then the
/// target does.
struct post_rounds {
  using epoch = std::vector<std::vector<rank_t>>;  ///< for each target, its origins
  std::vector<epoch> epochs;
  rank_t ranks;
  bool by_test = false;

  template <class Protocol>
  void play(weak::model& m, weak::control& control, Protocol& protocol) const {
    pgas::no_boundary nothing;
    rank_t const self = control.rank();
    for (epoch const& e : epochs) {
      auto const& origins = e[static_cast<std::size_t>(self)];
      std::vector<rank_t> targets;
      for (rank_t t = 0; t < ranks; ++t) {
        auto const& of = e[static_cast<std::size_t>(t)];
        if (std::find(of.begin(), of.end(), self) != of.end()) targets.push_back(t);
      }
      m.write(self, self);
      protocol.post(origins, nothing);
      protocol.start(targets, nothing, pgas::exposure_state::awaited);
      for (rank_t t : targets) {
        protocol.trigger(t, nothing, pgas::exposure_state::awaited);
        // Two origins may not write at once, so only a single origin writes.
        if (e[static_cast<std::size_t>(t)].size() == 1) {
          m.write(self, t);
        } else {
          m.read(self, t);
        }
      }
      protocol.complete(targets, nothing, pgas::exposure_state::awaited);
      if (by_test) {
        while (!protocol.test(origins, nothing)) control.pause(0, {});
      } else {
        protocol.wait(origins, nothing);
      }
      m.write(self, self);
    }
  }
};

/// Like search, for the actions of ranks with any protocol.
template <class Protocol, class Watcher = watcher, class Rounds>
found search_rounds(Rounds const& rounds, long most, weak::weakened const* weaker = nullptr,
                    std::map<weak::site, long>* sites = nullptr) {
  found f;
  weak::model m(rounds.ranks, Protocol::words(rounds.ranks));
  m.weaken(weaker);
  m.call_alike(alike_in_active<Protocol>);
  for (weak::bounds const within : steps_out) {
    f.wrong = m.search(within, most - m.runs(), [&](rank_t self) {
      weak::control words(m, self);
      Watcher watches;
      watched_control<weak::control, Watcher> control(words, watches);
      typename Protocol::template on<decltype(control)> protocol(control, {});
      rounds.play(m, words, protocol);
    });
    if (!f.wrong.empty() || !m.complete()) break;
    ++f.complete;
  }
  f.runs = m.runs();
  if (sites != nullptr) {
    for (auto const& [site, count] : m.sites()) (*sites)[site] += count;
  }
  return f;
}

std::vector<fence_rounds> all_fences() { return {{2}, {3}, {4}}; }
std::vector<post_rounds> all_posts() {
  return {
      {{{{}, {0}}, {{}, {0}}}, 2},          // one target again and again
      {{{{1}, {0}}, {{1}, {0}}}, 2, true},  // both ways, by test
      {{{{}, {0}, {}}, {{}, {}, {0}}, {{}, {0}, {}}},
       3},  // one origin with another target each time: targets that post early
      {{{{}, {0, 2}, {}}, {{1}, {}, {1}}}, 3},  // two origins, then two targets
      {{{{1, 2}, {}, {}}, {{1, 2}, {}, {}}}, 3, true},
      {{{{0}, {}}, {{0, 1}, {1}}}, 2},  // an origin that is its own target
  };
}

/// Signals, written as a protocol of two tags.
struct signals_of_two_tags {
  static constexpr std::string_view name = "signal_counts";
  static constexpr pgas::control_words words(rank_t ranks) {
    return pgas::sync::signal_counts<weak::control>::words(ranks, 2);
  }
  template <class Control>
  struct on : pgas::sync::signal_counts<Control> {
    on(Control& c, pgas::control_words) : pgas::sync::signal_counts<Control>(c, 2) {}
  };
};

/// Rank 0 writes to the part of each other rank and signals. That rank writes to the same part and signals
/// back.
struct signal_rounds {
  enum class how { wait, test, any };
  rank_t ranks;
  how waits;

  template <class Protocol>
  void play(weak::model& m, weak::control& control, Protocol& protocol) const {
    pgas::no_boundary nothing;
    auto const await = [&](pgas::signal_from from) {
      if (waits == how::wait) {
        protocol.wait(from, 1, nothing, pgas::no_deadline);
      } else if (waits == how::test) {
        while (!protocol.test(from, 1, nothing)) control.pause(0, {});
      } else {
        std::array const both{pgas::signal_from{from.source, 1 - from.tag}, from};
        auto const none_skipped = [](std::size_t) { return false; };
        if (protocol.wait_any(both, none_skipped, nothing, pgas::no_deadline) != 1)
          throw std::logic_error("another signal came");
      }
    };
    for (int round = 0; round < 2; ++round) {
      if (control.rank() == 0) {
        for (rank_t r = 1; r < ranks; ++r) {
          m.write(0, r);
          protocol.signal(r, 0, nothing);
        }
        for (rank_t r = 1; r < ranks; ++r) {
          await({r, 1});
          m.write(0, r);
        }
      } else {
        await({0, 0});
        m.write(control.rank(), control.rank());
        protocol.signal(0, 1, nothing);
      }
    }
  }
};
std::vector<signal_rounds> all_signals() {
  using how = signal_rounds::how;
  return {{2, how::wait}, {2, how::test}, {2, how::any}, {3, how::wait}};
}

/// A minimum over all ranks behind a barrier, written as a protocol.
struct least_behind_barrier {
  using barrier_type = pgas::sync::dissemination;
  static constexpr std::string_view name = "least_words";
  static constexpr pgas::control_words words(rank_t ranks) {
    return barrier_type::words(ranks) + pgas::detail::least_words<weak::control, 2>::words(ranks);
  }
  template <class Control>
  struct on {
    typename barrier_type::on<Control> barrier;
    pgas::detail::least_words<Control, 2> least;
    on(Control& c, pgas::control_words first)
        : barrier(c, first), least(c, first + barrier_type::words(c.size())) {}
  };
};

/// In each round every rank learns the least of one row of numbers and of their complements.
struct least_rounds {
  rank_t ranks;

  template <class Protocol>
  void play(weak::model&, weak::control& control, Protocol& protocol) const {
    pgas::no_boundary nothing;
    for (word round = 1; round <= 2; ++round) {
      protocol.barrier.fence(nothing, "barrier");
      word const mine = 10 * round + (static_cast<word>(control.rank()) + round) % static_cast<word>(ranks);
      std::array<word, 2> least{mine, ~mine};
      protocol.least(least, "least");
      if (least[0] != 10 * round || ~least[1] != 10 * round + static_cast<word>(ranks) - 1)
        throw std::logic_error("another minimum came");
    }
  }
};

/// The modification of elements, written as a protocol.
struct modes_of_elements {
  static constexpr std::string_view name = "bulk_accumulate_lock";
  static constexpr pgas::control_words words(rank_t) {
    return pgas::detail::bulk_accumulate_lock<weak::control>::words();
  }
  template <class Control>
  struct on : pgas::detail::bulk_accumulate_lock<Control> {
    using pgas::detail::bulk_accumulate_lock<Control>::bulk_accumulate_lock;
  };
};

/// Each rank's steps on rank 0's part: 'm' combines many elements, or goes element by element if it must; 's'
/// modifies a single one; 'l' leaves; 'p' leaves if a rank has asked. Ranks that go element by element may
/// coincide; a rank that combines many is alone.
struct mode_rounds {
  std::vector<std::string> steps;
  rank_t ranks = static_cast<rank_t>(steps.size());

  template <class Protocol>
  void play(weak::model& m, weak::control& control, Protocol& modes) const {
    rank_t const self = control.rank();
    for (char const step : steps[static_cast<std::size_t>(self)]) {
      if (step == 'l') {
        modes.withdraw_all();
      } else if (step == 'p') {
        modes.withdraw_if_asked(0);
      } else if (step == 's') {
        modes.announce(0, false);
        m.read(self, 0);
      } else if (!modes.many_at_once(0, [&] { m.write(self, 0); })) {
        m.read(self, 0);
      }
    }
    modes.withdraw_all();
  }
};
/// Removes one of two releases that are the same operation on the same word: the added value tells them
/// apart.
template <word Added>
struct modes_without_release : watcher {
  template <class Cell>
  word fetch_add(Cell const& c, word_access, word value, std::memory_order order) {
    return c.fetch_add(value, value == Added ? std::memory_order_relaxed : order);
  }
};
std::vector<mode_rounds> all_modes() {
  return {{{"mm", "mm"}},    {{"sls", "mm"}},     {{"ssm", "mslm"}},
          {{"m", "s", "m"}}, {{"sl", "s", "mm"}}, {{"spsp", "mm"}}};
}

template <class Protocols, class Programs>
void are_right(Programs const& programs) {
  auto const one = [&]<class Protocol>(Protocol) {
    long runs = 0;
    std::size_t complete = 0;
    for (auto const& what : programs) {
      found const f = search_rounds<Protocol>(what, runs_for(0.1));
      CHECK_MESSAGE(f.wrong == "", Protocol::name, ": ", f.wrong);
      runs += f.runs;
      complete += f.complete;
    }
    std::cout << "covered: " << Protocol::name << ", " << runs << " runs, " << complete
              << " bounds to their end\n";
  };
  std::apply([&](auto... protocol) { (one(protocol), ...); }, Protocols{});
}

template <class Protocols, class Programs>
void need_their_orders(Programs const& programs) {
  auto const one = [&]<class Protocol>(Protocol) {
    std::map<weak::site, long> sites;
    for (auto const& what : programs) search_rounds<Protocol>(what, 2000, nullptr, &sites);
    int tried = 0;
    for (auto const& [site, count] : sites) {
      if (std::string_view(site.what) == "wait") continue;
      for (auto const order : weaker_than(site.order)) {
        weak::weakened const weaker{site, order};
        ++tried;
        bool killed = false;
        for (auto const& what : programs)
          killed = killed || !search_rounds<Protocol>(what, runs_for(0.1), &weaker).wrong.empty();
        CHECK_MESSAGE(killed, Protocol::name, ": no test notices ", to_string(site), " as ",
                      weak::to_string(order));
      }
    }
    std::cout << "weakened: " << Protocol::name << ", " << tried << " orders\n";
  };
  std::apply([&](auto... protocol) { (one(protocol), ...); }, Protocols{});
}

}  // namespace

TEST_CASE("weak: fences are right in every order, with any old values that words may show" *
          doctest::test_suite("long")) {
  are_right<fence_protocols>(all_fences());
}

TEST_CASE(
    "weak: post, start, complete and wait are right in every order, with any old values that words may "
    "show" *
    doctest::test_suite("long")) {
  are_right<posts_on_words>(all_posts());
}

TEST_CASE("weak: a rank that has waited for a signal sees the writes before the signal") {
  are_right<std::tuple<signals_of_two_tags>>(all_signals());
}

TEST_CASE("weak: all ranks learn the least of their words, and each memory order of that is needed") {
  are_right<std::tuple<least_behind_barrier>>(std::vector<least_rounds>{{2}, {3}});
  need_their_orders<std::tuple<least_behind_barrier>>(std::vector<least_rounds>{{2}, {3}});
}

TEST_CASE("weak: a rank that combines many elements is alone, and sees the other ranks' modifications") {
  are_right<std::tuple<modes_of_elements>>(all_modes());
  need_their_orders<std::tuple<modes_of_elements>>(all_modes());
  auto const is_found = []<class Mutant>(Mutant) {
    for (auto const& what : all_modes()) {
      if (!search_rounds<modes_of_elements, Mutant>(what, runs_for(0.1)).wrong.empty()) return true;
    }
    return false;
  };
  CHECK(is_found(modes_without_release<negative(1)>{}));  // of a rank that combined many
  CHECK(is_found(modes_without_release<negative(4)>{}));  // of a rank that went element by element
  CHECK(!is_found(watcher{}));
}

TEST_CASE("weak: each memory order of signals is needed" * doctest::test_suite("long")) {
  need_their_orders<std::tuple<signals_of_two_tags>>(all_signals());
}

TEST_CASE("weak: each memory order of each fence is needed" * doctest::test_suite("long")) {
  need_their_orders<fence_protocols>(all_fences());
}

TEST_CASE("weak: each memory order of each post protocol is needed" * doctest::test_suite("long")) {
  need_their_orders<posts_on_words>(all_posts());
}

// The media of collectives.

namespace {

using on_links = std::tuple<weak::links_and_pull_area>;
using on_shared_areas = std::tuple<weak::shared_areas>;
using on_fewer_buffers = std::tuple<weak::areas_with_few_buffers>;

std::vector<weak::link_rounds> all_link_rounds() {
  return {{2, 5, true}, {2, 3}, {3, 3}, {2, 5, true, 12}, {2, 3, false, 12}};
}
std::vector<weak::pull_rounds> all_pull_rounds() { return {{2, 3}, {3, 3}}; }
std::vector<weak::area_rounds> all_area_rounds() { return {{2, true}, {2, false}, {3, true}, {3, false}}; }
std::vector<weak::area_rounds> long_area_rounds() { return {{2, true}, {3, true}}; }
std::vector<weak::eager_rounds> all_eager_rounds() {
  using kind = weak::eager_rounds::kind;
  return {{2, kind::reductions}, {2, kind::broadcasts},       {2, kind::answered},
          {3, kind::reductions}, {2, kind::reductions, true}, {2, kind::answered, true}};
}

/// Returns whether a search finds a fault in each of these.
template <class Protocol, class Programs>
bool all_are_wrong(Programs const& programs) {
  return std::all_of(programs.begin(), programs.end(), [](auto const& what) {
    return !search_rounds<Protocol>(what, runs_for(0.1)).wrong.empty();
  });
}

}  // namespace

TEST_CASE("weak: pieces on links and pull areas are read after they are written, and replaced after that") {
  are_right<on_links>(all_link_rounds());
  are_right<on_links>(all_pull_rounds());
}

TEST_CASE("weak: each memory order of links is needed, and a pull area needs two buffers" *
          doctest::test_suite("long")) {
  need_their_orders<on_links>(all_link_rounds());
  CHECK(all_are_wrong<weak::links_and_pull_area>(std::vector<weak::pull_rounds>{{2, 3, true}, {3, 3, true}}));
}

TEST_CASE("weak: pieces on shared areas are read after they are written, and replaced after that") {
  are_right<on_shared_areas>(all_area_rounds());
  are_right<on_fewer_buffers>(long_area_rounds());
}

TEST_CASE("weak: each memory order of shared areas is needed, and so is the place of post and end" *
          doctest::test_suite("long")) {
  using mistake = weak::area_rounds::mistake;
  need_their_orders<on_shared_areas>(all_area_rounds());
  for (auto const wrong : {mistake::writes_after_post, mistake::reads_after_end}) {
    CHECK(all_are_wrong<weak::shared_areas>(
        std::vector<weak::area_rounds>{{2, true, wrong}, {2, false, wrong}}));
  }
  need_their_orders<on_fewer_buffers>(long_area_rounds());
  CHECK(all_are_wrong<weak::areas_with_few_buffers>(
      std::vector<weak::area_rounds>{{2, true, mistake::begins_short}, {3, true, mistake::begins_short}}));
}

TEST_CASE("weak: eager messages are read after they are written, and replaced after that") {
  are_right<on_shared_areas>(all_eager_rounds());
}

TEST_CASE(
    "weak: eager messages need the order of each post, and a rank must read them before its next message") {
  need_their_orders<on_shared_areas>(all_eager_rounds());
  using kind = weak::eager_rounds::kind;
  CHECK(all_are_wrong<weak::shared_areas>(std::vector<weak::eager_rounds>{{2, kind::reductions, false, true},
                                                                          {2, kind::answered, false, true},
                                                                          {2, kind::answered, true, true}}));
}

// Protocols as papers present them, which are wrong.

namespace {

/// Common to the three: a counter holds the ranks for which this rank has posted and whose completion it has
/// not seen. Each post sets it.
template <class Control>
struct counted_completion {
  Control* control;
  std::size_t counter;  ///< the cell

  void expect(std::size_t origins) {
    control->cell(control->rank(), counter).reset_unshared(origins, std::memory_order_relaxed);
  }
  void complete(pgas::group targets) {
    for (rank_t t : targets) control->cell(t, counter).fetch_add(negative(1), std::memory_order_acq_rel);
  }
  void wait() {
    control->wait_until(control->cell(control->rank(), counter), [](word left) { return left == 0; }, {});
  }
  bool test() { return control->cell(control->rank(), counter).load(std::memory_order_acquire) == 0; }
};

/// Open MPI until 1.8, Christgau 2017, section 3.3.3: an origin counts posts without knowing their targets.
struct counted_posts {
  static constexpr std::string_view name = "counted_posts";
  static constexpr pgas::control_words words(rank_t) { return {.slots = 0, .cells = 2}; }

  template <class Control>
  struct on {
    counted_completion<Control> done;
    Control* control;
    std::size_t targets = 0;
    bool open = false;

    on(Control& c, pgas::control_words) : done{&c, 0}, control(&c) {}
    auto posts(rank_t origin) { return control->cell(origin, 1); }
    template <class Boundary>
    void post(pgas::group origins, Boundary&) {
      done.expect(origins.size());
      for (rank_t o : origins) posts(o).fetch_add(1, std::memory_order_acq_rel);
    }
    template <class Boundary>
    void start(pgas::group g, Boundary&, pgas::exposure_state) {
      targets = g.size(), open = false;
    }
    template <class Boundary>
    void trigger(rank_t, Boundary&, pgas::exposure_state) {
      if (!open)
        control->wait_until(posts(control->rank()), [this](word seen) { return seen >= targets; }, {});
      open = true;
    }
    template <class Boundary>
    void complete(pgas::group g, Boundary& b, pgas::exposure_state) {
      for (rank_t t : g) trigger(t, b, pgas::exposure_state::awaited);
      if (!g.empty()) posts(control->rank()).exchange(0, std::memory_order_acq_rel);
      done.complete(g);
    }
    template <class Boundary>
    void wait(pgas::group, Boundary&) {
      done.wait();
    }
    template <class Boundary>
    bool test(pgas::group, Boundary&) {
      return done.test();
    }
  };
};

/// Christgau 2017, algorithms 1 and 2 as printed: a target's bit is reset without the lock that guards the
/// vector while others set theirs.
struct unlocked_reset {
  static constexpr std::string_view name = "unlocked_reset";
  static constexpr pgas::control_words words(rank_t) { return {.slots = 0, .cells = 2}; }

  template <class Control>
  struct on {
    counted_completion<Control> done;
    Control* control;

    on(Control& c, pgas::control_words) : done{&c, 0}, control(&c) {}
    auto vector(rank_t origin) { return control->cell(origin, 1); }
    static word bit(rank_t r) { return word{1} << static_cast<unsigned>(r); }
    template <class Boundary>
    void post(pgas::group origins, Boundary&) {
      done.expect(origins.size());
      for (rank_t o : origins) vector(o).fetch_add(bit(control->rank()), std::memory_order_acq_rel);
    }
    template <class Boundary>
    void start(pgas::group, Boundary&, pgas::exposure_state) {}
    template <class Boundary>
    void trigger(rank_t t, Boundary&, pgas::exposure_state) {
      control->wait_until(vector(control->rank()), [t](word seen) { return (seen & bit(t)) != 0; }, {});
    }
    template <class Boundary>
    void complete(pgas::group g, Boundary& b, pgas::exposure_state) {
      for (rank_t t : g) {
        trigger(t, b, pgas::exposure_state::awaited);
        auto const mine = vector(control->rank());
        mine.reset_unshared(mine.load(std::memory_order_acquire) & ~bit(t), std::memory_order_release);
      }
      done.complete(g);
    }
    template <class Boundary>
    void wait(pgas::group, Boundary&) {
      done.wait();
    }
    template <class Boundary>
    bool test(pgas::group, Boundary&) {
      return done.test();
    }
  };
};

/// Gerstenberger, Besta and Hoefler 2014 as Christgau 2017 reads it: a place of the list comes from a ring of
/// free places. A target advances the ring's head before it loads the place.
struct ring_of_places {
  static constexpr std::string_view name = "ring_of_places";
  static constexpr word places = 2;
  static constexpr pgas::control_words words(rank_t) { return {.slots = 0, .cells = 3 + 2 * places}; }

  template <class Control>
  struct on {
    counted_completion<Control> done;
    Control* control;

    on(Control& c, pgas::control_words) : done{&c, 0}, control(&c) {}
    auto head(rank_t origin) { return control->cell(origin, 1); }
    auto tail(rank_t origin) { return control->cell(origin, 2); }  // minus the places that are free at first
    auto ring(rank_t origin, word i) { return control->cell(origin, 3 + i % places); }
    auto list(rank_t origin, word place) { return control->cell(origin, 3 + places + place); }
    template <class Boundary>
    void post(pgas::group origins, Boundary&) {
      done.expect(origins.size());
      for (rank_t o : origins) {
        word const mine = head(o).fetch_add(1, std::memory_order_acq_rel);
        word const given = tail(o).load(std::memory_order_acquire) + places;
        if (mine == given) throw std::logic_error("no place is free: the program has too many targets");
        word const found = ring(o, mine).load(std::memory_order_acquire);
        word const place = found == 0 ? mine % places : found - 1;
        list(o, place).exchange(static_cast<word>(control->rank()) + 1, std::memory_order_acq_rel);
      }
    }
    template <class Boundary>
    void start(pgas::group, Boundary&, pgas::exposure_state) {}
    word find(rank_t t) {
      std::vector<decltype(control->cell(0, 0))> all;
      for (word p = 0; p < places; ++p) all.push_back(list(control->rank(), p));
      return control->wait_any(std::span(all), [t](word who) { return who == static_cast<word>(t) + 1; }, {});
    }
    template <class Boundary>
    void trigger(rank_t t, Boundary&, pgas::exposure_state) {
      find(t);
    }
    template <class Boundary>
    void complete(pgas::group g, Boundary&, pgas::exposure_state) {
      rank_t const self = control->rank();
      for (rank_t t : g) {
        word const place = find(t);
        list(self, place).exchange(0, std::memory_order_acq_rel);
        ring(self, tail(self).load(std::memory_order_relaxed) + places)
            .reset_unshared(place + 1, std::memory_order_release);
        tail(self).fetch_add(1, std::memory_order_acq_rel);
      }
      done.complete(g);
    }
    template <class Boundary>
    void wait(pgas::group, Boundary&) {
      done.wait();
    }
    template <class Boundary>
    bool test(pgas::group, Boundary&) {
      return done.test();
    }
  };
};

/// Christgau 2017, section 3.4: a completion counter of 8 bits. With as many origins as it has values, it
/// reports that all have completed before any has; here with fewer bits and origins. Its posts are growing
/// numbers, which are right.
template <unsigned Bits>
struct narrow_counter {
  static constexpr std::string_view name = "narrow_counter";
  static constexpr pgas::control_words words(rank_t ranks) {
    return {.slots = static_cast<std::size_t>(ranks), .cells = 1};
  }

  template <class Control>
  struct on {
    static constexpr word mask = (word{1} << Bits) - 1;
    Control* control;
    std::vector<word> posted;
    std::vector<word> matched;

    on(Control& c, pgas::control_words)
        : control(&c),
          posted(static_cast<std::size_t>(c.size())),
          matched(static_cast<std::size_t>(c.size())) {}
    auto counter(rank_t target) { return control->cell(target, 0); }
    auto post_of(rank_t target, rank_t origin) {
      return control->slot(origin, static_cast<std::size_t>(target), target);
    }
    template <class Boundary>
    void post(pgas::group origins, Boundary&) {
      counter(control->rank()).reset_unshared(origins.size() & mask, std::memory_order_relaxed);
      for (rank_t o : origins)
        post_of(control->rank(), o).store(++posted[static_cast<std::size_t>(o)], std::memory_order_release);
    }
    template <class Boundary>
    void start(pgas::group g, Boundary&, pgas::exposure_state) {
      for (rank_t t : g) ++matched[static_cast<std::size_t>(t)];
    }
    template <class Boundary>
    void trigger(rank_t t, Boundary&, pgas::exposure_state) {
      control->wait_until(post_of(t, control->rank()),
                          [least = matched[static_cast<std::size_t>(t)]](word seen) { return seen >= least; },
                          {});
    }
    template <class Boundary>
    void complete(pgas::group g, Boundary& b, pgas::exposure_state) {
      for (rank_t t : g) {
        trigger(t, b, pgas::exposure_state::awaited);
        word left = counter(t).load(std::memory_order_relaxed);
        while (!counter(t).compare_exchange(left, (left - 1) & mask, std::memory_order_acq_rel)) {}
      }
    }
    template <class Boundary>
    void wait(pgas::group, Boundary&) {
      control->wait_until(counter(control->rank()), [](word left) { return left == 0; }, {});
    }
    template <class Boundary>
    bool test(pgas::group, Boundary&) {
      return counter(control->rank()).load(std::memory_order_acquire) == 0;
    }
  };
};

/// Rank 1 posts early for an epoch that follows two with rank 2.
post_rounds one_early() { return {{{{}, {}, {0}}, {{}, {}, {0}}, {{}, {0}, {0}}}, 3}; }

}  // namespace

TEST_CASE(
    "weak: post protocols as printed in the papers are found to be wrong, and their repaired forms are "
    "right" *
    doctest::test_suite("long")) {
  auto const why = []<class Protocol>(Protocol) {
    auto programs = all_posts();
    programs.push_back(one_early());
    for (auto const& what : programs) {
      if (auto f = search_rounds<Protocol>(what, runs_for(0.5)); !f.wrong.empty()) {
        std::cout << "killed: " << Protocol::name << ": " << f.wrong << "\n";
        return true;
      }
    }
    return false;
  };
  CHECK(why(counted_posts{}));
  CHECK(why(unlocked_reset{}));
  CHECK(why(ring_of_places{}));
  CHECK(why(narrow_counter<1>{}));
  // The first fails when a target of a later epoch posts early, the ring when another rank loads late. The
  // counter fails with as many origins as it has values. In all other cases they work.
  CHECK(search_rounds<counted_posts>(post_rounds{{{{}, {0}}, {{}, {0}}}, 2}, runs_for(0.1)).wrong == "");
  CHECK(search_rounds<narrow_counter<2>>(all_posts()[3], runs_for(0.1)).wrong == "");
  CHECK(search_rounds<ring_of_places>(post_rounds{{{{}, {0}}, {{}, {0}}}, 2}, runs_for(0.1)).wrong == "");
  CHECK(search_rounds<pgas::sync::match_list<2>>(one_early(), runs_for(0.5)).wrong == "");
  CHECK(search_rounds<pgas::sync::match_vector>(one_early(), runs_for(0.5)).wrong == "");
}
