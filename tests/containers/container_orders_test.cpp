// SPDX-License-Identifier: BSL-1.0
// The protocols of containers in all orders of a few ranks: on words that show old values as C++ allows, and
// on the emulated chip. Mutants lack a step, or have a weaker memory order, and each must be found.
// test: unit histories
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/containers/distributed_vector.hpp>
#include <pgas/containers/work_stealing_queue.hpp>
#include <vector>

#include "packed_ring_mutants.hpp"
#include "support/ranks.hpp"
#include "support/weak/model.hpp"
#include "ticket_ring_mutants.hpp"
#include "vector_mutants.hpp"
#include "work_stealing_mutants.hpp"

using namespace pgas_test;
using pgas::takers;
using pgas::word;

namespace pgas_test::order_suite {

double seconds_for_orders() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

// Words that show old values.

/// Elements in relaxed words behind those of a protocol. A put takes place as late as it may. If a part has
/// one element, the model also notices a put that may come before another rank's earlier get.
class late_elements {
 public:
  using value_type = word;

  late_elements(weak::model& m, rank_t self, std::size_t first_cell, std::size_t each)
      : words_(m, self), model_(&m), first_(first_cell), is_one_(each == 1) {}

  void put(rank_t rank, std::size_t first, std::span<word const> values) {
    for (word const value : values) started_.push_back({rank, first++, value});
  }
  void get(rank_t rank, std::size_t first, std::span<word> into) {
    for (word& value : into) {
      if (is_one_) model_->read(words_.rank(), rank);
      value = words_.cell(rank, first_ + first++).load(std::memory_order_relaxed);
    }
  }
  void arrive(rank_t) {
    for (auto const& p : std::exchange(started_, {})) {
      if (is_one_) model_->write(words_.rank(), p.rank);
      words_.cell(p.rank, first_ + p.at).reset_unshared(p.value, std::memory_order_relaxed);
    }
  }

 private:
  struct started_put {
    rank_t rank;
    std::size_t at;
    word value;
  };

  weak::control words_;
  weak::model* model_;
  std::size_t first_;
  bool is_one_;
  std::vector<started_put> started_;
};

/// The cells of a packed_ring in relaxed words: the turns, and behind them the elements.
class packed_words {
 public:
  using value_type = word;
  static constexpr int looks = 1;

  packed_words(weak::model& m, rank_t self, rank_t home, std::size_t capacity)
      : words_(m, self), model_(&m), home_(home), capacity_(capacity) {}

  struct cell_type {
    packed_words const* all;
    std::size_t i;
    [[nodiscard]] word load_turn(std::memory_order order) const { return all->at(i).load(order); }
    void store_turn(word turn, std::memory_order order) const { all->at(i).reset_unshared(turn, order); }
    void write(word value) const {
      if (all->capacity_ == 1) all->model_->write(all->words_.rank(), all->home_);
      all->at(all->capacity_ + i).reset_unshared(value, std::memory_order_relaxed);
    }
    void read(word& value) const {
      if (all->capacity_ == 1) all->model_->read(all->words_.rank(), all->home_);
      value = all->at(all->capacity_ + i).load(std::memory_order_relaxed);
    }
  };
  [[nodiscard]] cell_type cell(std::size_t i) const { return {this, i}; }

 private:
  [[nodiscard]] weak::control::cell_type at(std::size_t i) const {
    return weak::control(words_).cell(home_, pgas::detail::ring_places::first_turn + i);
  }

  weak::control words_;
  weak::model* model_;
  rank_t home_;
  std::size_t capacity_;
};

/// The place of a ring's turns.
enum class turns {
  apart,        ///< in control words: ticket_ring
  in_the_cells  ///< packed_ring
};
template <turns Turns>
using right_ring =
    std::conditional_t<Turns == turns::apart, ticket_ring_mutants::none, packed_ring_mutants::none>;

/// What a search of a right protocol has covered.
struct coverage {
  long runs = 0;
  int searches = 0;
  int complete = 0;
  void add(weak::model const& m) {
    runs += m.runs();
    ++searches;
    complete += m.complete() ? 1 : 0;
  }
};

/// The orders that a protocol asks for by itself: a wait acquires by its contract.
bool is_chosen(weak::site const& at) {
  return at.order != std::memory_order_relaxed && std::string_view(at.what) != "wait";
}

// Counters.

/// Word 1 of rank 0 is a payload. A rank stores it and adds, another one waits for the sum and reads.
template <class Counter, class Make>
std::string passes_payload(weak::model& m, Make const& make) {
  return m.search({3, 2}, 20000, [&](rank_t self) {
    weak::control words(m, self);
    Counter count = make(weak::control(m, self));
    auto const payload = words.slot(0, 1, 0);
    if (self == 0) {
      payload.store(7, std::memory_order_relaxed);
      count.add();
    } else {
      if (count.read() == 0) return;
      if (payload.load(std::memory_order_relaxed) != 7) throw weak::violation("an old payload");
    }
  });
}

}  // namespace pgas_test::order_suite
using namespace pgas_test::order_suite;

TEST_CASE("counter: each of its memory orders is needed, on words that show old values") {
  pgas::control_words const words{.slots = 2, .cells = 1};
  auto const at_home = [](weak::control c) { return pgas::counter(std::move(c), 0, 0); };
  auto const striped = [](weak::control c) { return pgas::striped_counter(std::move(c)); };
  long needed = 0;
  auto const look = [&]<class Counter>(std::type_identity<Counter>, auto const& make) {
    weak::model right(2, words);
    CHECK(passes_payload<Counter>(right, make) == "");
    CHECK(right.complete());
    for (auto const& [at, times] : right.sites()) {
      if (at.order == std::memory_order_relaxed) continue;
      weak::weakened const to{at, std::memory_order_relaxed};
      weak::model m(2, words);
      m.weaken(&to);
      CHECK_MESSAGE(passes_payload<Counter>(m, make) != "", "no run needs ", to_string(at));
      ++needed;
    }
  };
  look(std::type_identity<pgas::counter<weak::control>>{}, at_home);
  look(std::type_identity<pgas::striped_counter<weak::control>>{}, striped);
  CHECK(needed == 4);
}

// Queues.

namespace pgas_test::order_suite {

/// A program on one queue. The first ranks push numbered elements, the others pop.
struct queue_program {
  rank_t ranks = 2;
  rank_t pushers = 1;
  std::size_t capacity = 1;
  word each = 2;         ///< the elements of a pushing rank
  std::size_t bulk = 1;  ///< the elements of a push or a pop at most
  bool closes = false;   ///< the one pusher closes the queue, and the others pop until it is empty
};

/// The numbers that each rank has popped. Throws unless each element was popped once, and each pusher's in
/// their order by each rank.
void check_popped(queue_program const& what, std::vector<std::vector<word>> const& popped) {
  std::vector<word> times(static_cast<std::size_t>(what.pushers) * what.each);
  for (auto const& mine : popped) {
    std::vector<word> next(static_cast<std::size_t>(what.pushers));
    for (word const value : mine) {
      if (value == 0) throw std::runtime_error("an old element");
      std::size_t const from = (value - 1) / what.each;
      word const number = (value - 1) % what.each;
      if (from >= next.size()) throw std::runtime_error("an element that was not pushed");
      if (number < next[from]) throw std::runtime_error("elements of one rank in another order");
      next[from] = number + 1;
      if (++times[value - 1] > 1) throw std::runtime_error("an element twice");
    }
  }
  for (word const each : times) {
    if (each != 1) throw std::runtime_error("a lost element");
  }
}

/// This rank's part of the program; returns the elements that it has popped.
template <class Ring>
std::vector<word> play_queue(queue_program const& what, Ring& ring, rank_t self) {
  std::vector<word> popped;
  int waits = 0;
  if (self < what.pushers) {
    std::vector<word> values;
    for (word i = 0; i < what.each; ++i) values.push_back(static_cast<word>(self) * what.each + i + 1);
    for (std::size_t done = 0; done < values.size();) {
      auto const left = std::span<word const>(values).subspan(done);
      std::size_t const more = what.bulk == 1 ? ring.try_push(left.template first<1>())
                                              : ring.try_push(left.first(std::min(what.bulk, left.size())));
      done += more;
      if (more > 0) continue;
      ring.wait_for_room(pgas::no_deadline);
      if (++waits > 100) throw std::runtime_error("a rank waits for ever");
    }
    if (what.closes) ring.close();
    return popped;
  }
  std::vector<word> some(what.bulk);
  word left = static_cast<word>(what.pushers) * what.each / static_cast<word>(what.ranks - what.pushers);
  while (what.closes || left > 0) {
    std::size_t const fits = what.closes ? some.size() : std::min<std::size_t>(some.size(), left);
    std::size_t const n = what.bulk == 1 ? ring.try_pop(std::span(some).template first<1>())
                                         : ring.try_pop(std::span(some).first(fits));
    popped.insert(popped.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    left -= n;
    if (n > 0) continue;
    if (!ring.wait_for_element(pgas::no_deadline)) break;
    if (++waits > 100) throw std::runtime_error("a rank waits for ever");
  }
  return popped;
}

std::vector<queue_program> queue_programs(takers who) {
  if (who == takers::one)
    return {{2, 1, 1, 3, 1}, {3, 2, 1, 2, 1},       {3, 2, 2, 2, 2},      {2, 1, 2, 4, 2},
            {3, 2, 2, 1, 1}, {2, 1, 1, 2, 1, true}, {2, 1, 1, 1, 1, true}};
  return {{2, 1, 1, 3, 1}, {3, 2, 1, 2, 1},       {3, 1, 1, 2, 1},       {4, 2, 1, 1, 1},
          {3, 2, 2, 1, 1}, {2, 1, 1, 2, 1, true}, {2, 1, 1, 1, 1, true}, {3, 1, 2, 3, 2, true}};
}

pgas::detail::ring_places places_of(queue_program const& what, rank_t owners = 1) {
  return {what.ranks - 1, what.capacity, owners};  // the one that takes, if there is one
}

/// The words of a program: those of the ring, its elements, and one that says that the home has set its
/// words.
weak::model words_of(queue_program const& what) {
  return {what.ranks, {.slots = 0, .cells = places_of(what).words().cells + what.capacity + 1}};
}

/// A ring of a program on such words.
template <turns Turns, takers Takers, class Mutant = right_ring<Turns>>
auto ring_on(weak::model& m, rank_t self, pgas::detail::ring_places const& places) {
  weak::control words(m, self);
  if constexpr (Turns == turns::apart) {
    return typename Mutant::template ticket_ring<weak::control, late_elements, Takers>(
        words, late_elements(m, self, places.words().cells, places.cells), places);
  } else {
    return typename Mutant::template packed_ring<weak::control, packed_words, Takers>(
        words, packed_words(m, self, places.home, places.cells), places);
  }
}

template <turns Turns, takers Takers, class Mutant = right_ring<Turns>>
std::string search_queue(weak::model& m, queue_program const& what, weak::bounds within, long most) {
  auto const places = places_of(what);
  std::size_t const first = places.words().cells;
  std::vector<std::vector<word>> popped(static_cast<std::size_t>(what.ranks));
  rank_t finished = 0;
  return m.search(within, most, [&](rank_t self) {
    weak::control words(m, self);
    auto ring = ring_on<Turns, Takers, Mutant>(m, self, places);
    auto const is_set = words.cell(places.home, first + what.capacity);
    if (self == places.home) is_set.reset_unshared(1, std::memory_order_release);
    words.wait_until(is_set, [](word seen) { return seen != 0; }, {});
    popped[static_cast<std::size_t>(self)] = play_queue(what, ring, self);
    if (++finished < what.ranks) return;
    finished = 0;
    check_popped(what, popped);
  });
}

template <turns Turns, takers Takers, class Mutant>
bool is_found_on_words() {
  for (long const most : {300, 5000}) {
    for (auto const& what : queue_programs(Takers)) {
      weak::model m = words_of(what);
      if (!search_queue<Turns, Takers, Mutant>(m, what, {2, 1}, most).empty()) return true;
    }
  }
  return false;
}

}  // namespace pgas_test::order_suite

TEST_CASE(
    "queue: elements come once and in order, in all orders of few ranks on words that show old values") {
  coverage all;
  auto const most = static_cast<long>(400 * seconds_for_orders());
  auto const search = [&]<turns Turns, takers Takers> {
    for (auto const& what : queue_programs(Takers)) {
      for (weak::bounds const within : {weak::bounds{1, 1}, weak::bounds{3, 2}}) {
        weak::model m = words_of(what);
        CHECK(search_queue<Turns, Takers>(m, what, within, most) == "");
        all.add(m);
      }
    }
  };
  search.template operator()<turns::apart, takers::one>();
  search.template operator()<turns::apart, takers::any>();
  search.template operator()<turns::in_the_cells, takers::one>();
  search.template operator()<turns::in_the_cells, takers::any>();
  std::cout << "covered: " << all.runs << " orders of queues of 2 to 4 ranks on words that show old values; "
            << all.complete << " of " << all.searches << " searches are complete\n";
}

TEST_CASE("queue: each step of an inbox is needed, on words that show old values") {
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::no_arrival>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::full_before_put>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::free_before_get>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::close_at_once>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::close_unmarked>());
  CHECK(is_found_on_words<turns::apart, takers::one, ticket_ring_mutants::look_by_load>());
}
TEST_CASE("queue: each step of a queue for many is needed, on words that show old values") {
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::no_arrival>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::full_before_put>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::free_before_get>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::close_at_once>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::close_unmarked>());
  CHECK(is_found_on_words<turns::apart, takers::any, ticket_ring_mutants::look_by_load>());
}

TEST_CASE("queue: each step of a packed queue is needed, on words that show old values") {
  CHECK(is_found_on_words<turns::in_the_cells, takers::one, packed_ring_mutants::full_before_put>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::one, packed_ring_mutants::free_before_get>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::one, packed_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::one, packed_ring_mutants::close_at_once>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::any, packed_ring_mutants::full_before_put>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::any, packed_ring_mutants::free_before_get>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::any, packed_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_words<turns::in_the_cells, takers::any, packed_ring_mutants::close_at_once>());
}

TEST_CASE("queue: each memory order of its words is needed, on words that show old values") {
  auto const look = [&]<turns Turns, takers Takers> {
    std::map<weak::site, bool> needed;
    for (auto const& what : queue_programs(Takers)) {
      weak::model right = words_of(what);
      CHECK(search_queue<Turns, Takers>(right, what, {2, 1}, 500) == "");
      for (auto const& [at, times] : right.sites()) {
        // The start of a program, and the end of a queue, which tells of other memory: see the next case.
        bool const is_start = at.index == places_of(what).words().cells + what.capacity;
        bool const is_close = at.index == 0 && (std::string_view(at.what) == "compare_exchange" ||
                                                std::string_view(at.what) == "fetch_add");
        if (!is_chosen(at) || is_start || is_close || needed[at]) continue;
        weak::model m = words_of(what);
        weak::weakened const to{at, std::memory_order_relaxed};
        m.weaken(&to);
        needed[at] = !search_queue<Turns, Takers>(m, what, {2, 1}, 5000).empty();
      }
    }
    CHECK(needed.size() >= 4);
    for (auto const& [at, is_needed] : needed)
      CHECK_MESSAGE(is_needed, "no program of ", std::string(Takers == takers::one ? "an inbox" : "a queue"),
                    " notices a weaker ", to_string(at));
  };
  look.template operator()<turns::apart, takers::one>();
  look.template operator()<turns::apart, takers::any>();
  look.template operator()<turns::in_the_cells, takers::one>();
  look.template operator()<turns::in_the_cells, takers::any>();
}

namespace pgas_test::order_suite {

/// Rank 0 writes, and closes the queue. Rank 1 finds it closed, by a look or a wait, and reads.
template <turns Turns>
std::string search_close(weak::model& m, bool by_look) {
  return m.search({3, 2}, 20000, [&](rank_t self) {
    weak::control words(m, self);
    pgas::detail::ring_places const places{0, 1, 1};
    auto ring = ring_on<Turns, takers::any>(m, self, places);
    auto const payload = words.slot(0, 0, 0);
    if (self == 0) {
      payload.store(7, std::memory_order_relaxed);
      ring.close();
    } else if (by_look ? ring.is_closed() : !ring.wait_for_element(pgas::no_deadline)) {
      if (payload.load(std::memory_order_relaxed) != 7) throw weak::violation("an old payload");
    }
  });
}

}  // namespace pgas_test::order_suite

TEST_CASE("queue: a rank that finds a queue closed finds what its closer has written before") {
  pgas::control_words const words{.slots = 1, .cells = 4};
  auto const look = [&]<turns Turns>(bool by_look, long orders) {
    weak::model right(2, words);
    CHECK(search_close<Turns>(right, by_look) == "");
    CHECK(right.complete());
    long weakened = 0;
    for (auto const& [at, times] : right.sites()) {
      // A look does not wait for the turn that the closer sets.
      if (!is_chosen(at) || (by_look && std::string_view(at.what) == "reset_unshared")) continue;
      // The closer of a packed ring sets no turn.
      if (Turns == turns::in_the_cells && at.index >= pgas::detail::ring_places::first_turn) continue;
      weak::model m(2, words);
      weak::weakened const to{at, std::memory_order_relaxed};
      m.weaken(&to);
      CHECK_MESSAGE(search_close<Turns>(m, by_look) != "", "no run needs ", to_string(at));
      ++weakened;
    }
    CHECK(weakened == orders);
  };
  look.template operator()<turns::apart>(false, 3);
  look.template operator()<turns::apart>(true, 2);
  look.template operator()<turns::in_the_cells>(false, 1);
  look.template operator()<turns::in_the_cells>(true, 2);
}

// The emulated chip.

namespace pgas_test::order_suite {

namespace scc = pgas::scc;

/// A search makes a chip for each order. Returning its memory to the system each time costs more than the
/// run.
[[maybe_unused]] bool const keeps_memory_of_chips =
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && ::mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;

template <takers Takers, class Mutant = ticket_ring_mutants::none>
std::string play_queue_on_chip(queue_program const& what, rank_t owners = 1) {
  std::vector<std::vector<word>> popped(static_cast<std::size_t>(what.ranks));
  try {
    pgas::run<pgas::backends::scc>(what.ranks, [&](auto& team) {
      auto const places = places_of(what, owners);
      auto words =
          pgas::detail::make_container_words(*team.state(), places.words(), "make_queue", [](auto&) {});
      auto const memory = pgas::make_window<word>(team, places.cells_each());
      using store = pgas::detail::element_store<std::remove_const_t<decltype(memory)>>;
      typename Mutant::template ticket_ring<decltype(words), store, Takers> ring(std::move(words),
                                                                                 store(memory), places);
      team.barrier();
      // The ranks are fibers of this process.
      popped[static_cast<std::size_t>(team.rank())] = play_queue(what, ring, team.rank());
      team.barrier();
    });
    check_popped(what, popped);
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

/// Plays random orders with an adversary until one is wrong, or for a while; returns their number, and the
/// first fault.
template <class Play>
std::pair<long, std::string> random_orders(long most, double seconds, Play const& play) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long runs = 0;
  std::string wrong;
  for (; runs < most && wrong.empty() && std::chrono::steady_clock::now() < end; ++runs) {
    scc::options how;
    how.disturb(next_seed());
    scc::with_options const emulated(how);
    wrong = play();
    if (!wrong.empty()) wrong = "seed " + std::to_string(how.seed) + ": " + wrong;
  }
  return {runs, wrong};
}
/// Plays all orders with few changes of turns, as far as the time reaches.
template <class Play>
void few_switches(std::string const& what, std::size_t switches, double seconds, Play const& play) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  scc::decisions script;
  script.most_switches = switches;
  scc::options how;
  how.schedule = scc::scheduling::script;
  how.script = &script;
  scc::with_options const emulated(how);
  long runs = 0;
  bool more = true;
  for (; more && std::chrono::steady_clock::now() < end; more = script.next(), ++runs) REQUIRE(play() == "");
  std::cout << "covered: " << runs << (more ? " of the" : ", all") << " orders of " << what << " with up to "
            << switches << " changes of turns\n";
}

template <takers Takers, class Mutant>
bool is_found_on_chip() {
  long runs = 0;
  for (int round = 0; round < 40; ++round) {
    for (auto const& what : queue_programs(Takers)) {
      auto const [more, wrong] =
          random_orders(5, 20, [&] { return play_queue_on_chip<Takers, Mutant>(what); });
      runs += more;
      if (!wrong.empty()) return true;
    }
  }
  return false;
}

}  // namespace pgas_test::order_suite

TEST_CASE("queue: elements come once and in order, in random orders on the emulated chip") {
  if (!chosen(pgas::backends::scc::name)) return;
  long runs = 0;
  auto const play = [&]<takers Takers>(std::integral_constant<takers, Takers>, rank_t owners) {
    auto const programs = queue_programs(Takers);
    double const share = seconds_for_orders() / static_cast<double>(3 * programs.size());
    for (auto const& what : programs) {
      auto const [more, wrong] = random_orders(
          1'000'000, share, [&] { return play_queue_on_chip<Takers>(what, std::min(owners, what.ranks)); });
      CHECK(wrong == "");
      runs += more;
    }
  };
  play(std::integral_constant<takers, takers::one>{}, 1);
  play(std::integral_constant<takers, takers::any>{}, 1);
  play(std::integral_constant<takers, takers::any>{}, 3);
  std::cout << "covered: " << runs << " random orders of queues of 2 to 4 cores\n";
}

TEST_CASE("queue: elements come once and in order, in every order with few changes of turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  queue_program const one{2, 1, 1, 2, 1};
  queue_program const any{3, 1, 1, 2, 1};
  double const share = seconds_for_orders() / 4;
  for (std::size_t const switches : {1U, 2U}) {
    few_switches("an inbox of 2 cores", switches, share,
                 [&] { return play_queue_on_chip<takers::one>(one); });
    few_switches("a queue of 3 cores", switches, share, [&] { return play_queue_on_chip<takers::any>(any); });
  }
}

TEST_CASE("queue: on the chip each step of an inbox is needed") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::no_arrival>());
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::full_before_put>());
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::free_before_get>());
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::close_at_once>());
  CHECK(is_found_on_chip<takers::one, ticket_ring_mutants::close_unmarked>());
}
TEST_CASE("queue: on the chip each step of a queue for many is needed") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::no_arrival>());
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::full_before_put>());
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::free_before_get>());
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::no_look_for_room>());
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::close_at_once>());
  CHECK(is_found_on_chip<takers::any, ticket_ring_mutants::close_unmarked>());
}

// Tasks.

namespace pgas_test::order_suite {

/// A program on tasks: a binary tree whose node n has the children 2 n and 2 n + 1, below `end`.
struct task_program {
  rank_t ranks = 2;
  std::size_t cells = 1;
  word end = 4;
  word roots = 1;  ///< rank 0 begins with nodes 1 to `roots`, without an order among them
};

/// Each node must run once.
class runs_of_nodes {
 public:
  explicit runs_of_nodes(task_program const& what) : what_(what), runs_(what.end) {}
  void note(word node) {
    if (node == 0 || node >= runs_.size()) throw std::runtime_error("an old task");
    if (++runs_[node] > 1) throw std::runtime_error("a task twice");
  }
  /// A rank has found the end.
  void at_end() const {
    for (word node = 1; node < runs_.size(); ++node) {
      if (runs_[node] == 0) throw std::runtime_error("the end came early");
    }
  }
  void clear() { runs_.assign(runs_.size(), 0); }

 private:
  task_program what_;
  std::vector<word> runs_;
};

/// This rank's part of the program.
template <class Ranks>
void play_tasks(task_program const& what, Ranks& ranks, rank_t self, runs_of_nodes& runs) {
  if (self == 0) {
    for (word root = 1; root <= what.roots; ++root) ranks.deque().push(root);
  }
  word task = 0;
  while (ranks.next(task)) {
    runs.note(task);
    for (word child = 2 * task; child <= 2 * task + 1 && child < what.end; ++child) {
      if (child > what.roots) ranks.deque().push(child);
    }
    ranks.deque().offer();
  }
  runs.at_end();
}

std::vector<task_program> task_programs() {
  return {{2, 1, 4}, {2, 1, 5, 4}, {2, 1, 6, 5}, {3, 1, 5, 4}, {2, 2, 8, 3}, {3, 2, 6}};
}

weak::model words_of(task_program const& what) {
  using ranks_type = pgas::detail::stealing_ranks<weak::control, late_elements>;
  return {what.ranks, {.slots = 1, .cells = ranks_type::words_each + what.cells + 1}};
}

template <class Mutant = work_stealing_mutants::none>
std::string search_tasks(weak::model& m, task_program const& what, weak::bounds within, long most) {
  using ranks_type = typename Mutant::template stealing_ranks<weak::control, late_elements>;
  std::size_t const first = ranks_type::words_each;
  runs_of_nodes runs(what);
  rank_t finished = 0;
  return m.search(within, most, [&](rank_t self) {
    weak::control words(m, self);
    ranks_type ranks(words, late_elements(m, self, first, what.cells), what.cells, 0);
    auto const is_set = words.cell(0, first + what.cells);
    if (self == 0) is_set.reset_unshared(1, std::memory_order_release);
    words.wait_until(is_set, [](word seen) { return seen != 0; }, {});
    // What a rank has written before it rests is there for all at the end.
    words.slot(self, 0, self).store(7, std::memory_order_relaxed);
    play_tasks(what, ranks, self, runs);
    for (rank_t r = 0; r < what.ranks; ++r) {
      if (words.slot(r, 0, r).load(std::memory_order_relaxed) != 7) throw weak::violation("an old payload");
    }
    if (++finished < what.ranks) return;
    finished = 0;
    runs.clear();
  });
}

template <class Mutant>
bool are_tasks_found_on_words() {
  for (auto const& what : task_programs()) {
    weak::model m = words_of(what);
    if (!search_tasks<Mutant>(m, what, {2, 1}, 5000).empty()) return true;
  }
  return false;
}

template <class Mutant = work_stealing_mutants::none>
std::string play_tasks_on_chip(task_program const& what) {
  runs_of_nodes runs(what);
  try {
    pgas::run<pgas::backends::scc>(what.ranks, [&](auto& team) {
      using control_type = pgas::backends::scc::control_type;
      auto const memory = pgas::make_window<word>(team, what.cells);
      using store = pgas::detail::element_store<std::remove_const_t<decltype(memory)>>;
      using ranks_type = typename Mutant::template stealing_ranks<control_type, store>;
      auto words = pgas::detail::make_container_words(
          *team.state(), {.slots = 0, .cells = ranks_type::words_each}, "make_tasks", [](auto&) {});
      ranks_type ranks(words, store(memory), what.cells, 0);
      team.barrier();
      play_tasks(what, ranks, team.rank(), runs);  // the ranks are fibers of this process
      team.barrier();
    });
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

template <class Mutant>
bool are_tasks_found_on_chip() {
  for (int round = 0; round < 100; ++round) {
    for (auto const& what : task_programs()) {
      if (!random_orders(5, 20, [&] { return play_tasks_on_chip<Mutant>(what); }).second.empty()) return true;
    }
  }
  return false;
}

}  // namespace pgas_test::order_suite

TEST_CASE("work_stealing: tasks run once and the end is not early, on words that show old values") {
  coverage all;
  auto const most = static_cast<long>(400 * seconds_for_orders());
  for (auto const& what : task_programs()) {
    for (weak::bounds const within : {weak::bounds{1, 1}, weak::bounds{3, 2}}) {
      weak::model m = words_of(what);
      CHECK(search_tasks(m, what, within, most) == "");
      all.add(m);
    }
  }
  std::cout << "covered: " << all.runs << " orders of tasks of 2 and 3 ranks on words that show old values; "
            << all.complete << " of " << all.searches << " searches are complete\n";
}

TEST_CASE("work_stealing: each step is needed, on words that show old values") {
  CHECK(are_tasks_found_on_words<work_stealing_mutants::no_arrival>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::offer_before_put>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::no_look_at_copied>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::copied_before_get>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::get_before_claim>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::take_back_by_store>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::rest_with_tasks>());
  CHECK(are_tasks_found_on_words<work_stealing_mutants::active_after_claim>());
}

TEST_CASE("work_stealing: each memory order is needed, on words that show old values") {
  std::map<weak::site, bool> needed;
  for (auto const& what : task_programs()) {
    weak::model right = words_of(what);
    CHECK(search_tasks(right, what, {1, 0}, 500) == "");
    CHECK(search_tasks(right, what, {2, 1}, 500) == "");
    for (auto const& [at, times] : right.sites()) {
      bool const is_start =
          at.index == pgas::detail::stealing_ranks<weak::control, late_elements>::words_each + what.cells;
      // The acquires of take_back keep two changes of `active` in their order. The model never reorders
      // changes of one word, so it cannot show them.
      bool const is_take_back = at.index == 0 && at.order == std::memory_order_acquire;
      if (!is_chosen(at) || is_start || is_take_back || needed[at]) continue;
      weak::model m = words_of(what);
      weak::weakened const to{at, std::memory_order_relaxed};
      m.weaken(&to);
      needed[at] =
          !search_tasks(m, what, {1, 0}, 10000).empty() || !search_tasks(m, what, {2, 1}, 5000).empty();
    }
  }
  CHECK(needed.size() >= 5);
  for (auto const& [at, is_needed] : needed)
    CHECK_MESSAGE(is_needed, "no program notices a weaker ", to_string(at));
}

TEST_CASE("work_stealing: tasks run once and the end is not early, in random orders on the emulated chip") {
  if (!chosen(pgas::backends::scc::name)) return;
  long runs = 0;
  double const share = seconds_for_orders() / static_cast<double>(task_programs().size());
  for (auto const& what : task_programs()) {
    auto const [more, wrong] = random_orders(1'000'000, share, [&] { return play_tasks_on_chip(what); });
    CHECK(wrong == "");
    runs += more;
  }
  std::cout << "covered: " << runs << " random orders of tasks of 2 and 3 cores\n";
}

TEST_CASE(
    "work_stealing: tasks run once and the end is not early, in every order with few changes of turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  task_program const small{2, 1, 4};
  for (std::size_t const switches : {1U, 2U})
    few_switches("the tasks of 2 cores", switches, seconds_for_orders() / 2,
                 [&] { return play_tasks_on_chip(small); });
}

TEST_CASE("work_stealing: on the chip each step is needed") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::no_arrival>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::offer_before_put>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::no_look_at_copied>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::copied_before_get>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::get_before_claim>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::take_back_by_store>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::rest_with_tasks>());
  CHECK(are_tasks_found_on_chip<work_stealing_mutants::active_after_claim>());
}

// Vectors.

namespace pgas_test::order_suite {

/// Ranks that append, one to three elements at a time. The last rank looks at all below the size.
struct append_program {
  rank_t ranks = 2;
  std::size_t times = 2;
  std::size_t bulk = 1;
  [[nodiscard]] std::size_t capacity() const { return static_cast<std::size_t>(ranks - 1) * times * bulk; }
};

/// This rank's part. `elements` reaches the elements, all at rank 0; element i gets the value i + 1.
template <bool Arrives, class Counts, class Elements>
void play_appends(append_program const& what, Counts& counts, Elements& elements, rank_t self) {
  if (self < what.ranks - 1) {
    for (std::size_t n = 0; n < what.times; ++n) {
      auto const at = counts.append(what.bulk, what.capacity(), [&](std::size_t first) {
        for (std::size_t i = first; i < first + what.bulk; ++i) {
          word const value = i + 1;
          elements.put(0, i, std::span<word const>(&value, 1));
        }
        if constexpr (Arrives) elements.arrive(0);
      });
      if (!at) throw std::runtime_error("a vector with room is full");
    }
    return;
  }
  std::size_t last = 0;
  for (int look = 0; look < 3; ++look) {
    std::size_t const size = counts.size();
    if (size < last) throw std::runtime_error("the size falls");
    last = size;
    for (std::size_t i = 0; i < size; ++i) {
      word value = 0;
      elements.get(0, i, std::span<word>(&value, 1));
      if (value != i + 1) throw std::runtime_error("an old element below the size");
    }
  }
}

std::vector<append_program> append_programs() { return {{2, 2, 1}, {2, 1, 2}, {3, 1, 1}, {3, 2, 1}}; }

weak::model words_of(append_program const& what) {
  return {what.ranks, {.slots = 0, .cells = 2 + what.capacity()}};
}
template <class Mutant = vector_mutants::none, bool Arrives = true>
std::string search_appends(weak::model& m, append_program const& what, weak::bounds within, long most) {
  return m.search(within, most, [&](rank_t self) {
    typename Mutant::template append_counts<weak::control> counts(weak::control(m, self), 0);
    late_elements elements(m, self, 2, 0);
    play_appends<Arrives>(what, counts, elements, self);
  });
}
template <class Mutant, bool Arrives = true>
bool are_appends_found() {
  for (auto const& what : append_programs()) {
    weak::model m = words_of(what);
    if (!search_appends<Mutant, Arrives>(m, what, {3, 1}, 5000).empty()) return true;
  }
  return false;
}

template <class Mutant = vector_mutants::none, bool Arrives = true>
std::string play_appends_on_chip(append_program const& what) {
  try {
    pgas::run<pgas::backends::scc>(what.ranks, [&](auto& team) {
      using control_type = pgas::backends::scc::control_type;
      using counts_type = typename Mutant::template append_counts<control_type>;
      auto const memory = pgas::make_window<word>(team, team.rank() == 0 ? what.capacity() : 0);
      pgas::detail::element_store elements(memory);
      counts_type counts(pgas::detail::make_container_words(*team.state(), counts_type::needed,
                                                            "make_appends", [](auto&) {}),
                         0);
      team.barrier();
      play_appends<Arrives>(what, counts, elements, team.rank());
      team.barrier();
    });
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}
template <class Mutant, bool Arrives = true>
bool are_appends_found_on_chip() {
  for (int round = 0; round < 100; ++round) {
    for (auto const& what : append_programs()) {
      auto const play = [&] { return play_appends_on_chip<Mutant, Arrives>(what); };
      if (!random_orders(5, 20, play).second.empty()) return true;
    }
  }
  return false;
}

}  // namespace pgas_test::order_suite

TEST_CASE(
    "vector: elements below the size are whole, in all orders of few ranks on words that show old values") {
  coverage all;
  auto const most = static_cast<long>(1000 * seconds_for_orders());
  for (auto const& what : append_programs()) {
    for (weak::bounds const within : {weak::bounds{1, 1}, weak::bounds{3, 2}}) {
      weak::model m = words_of(what);
      CHECK(search_appends(m, what, within, most) == "");
      all.add(m);
    }
  }
  std::cout << "covered: " << all.runs
            << " orders of appends of 2 and 3 ranks on words that show old values; " << all.complete << " of "
            << all.searches << " searches are complete\n";
}

TEST_CASE("vector: each step and each memory order of its counts is needed, on words that show old values") {
  CHECK(are_appends_found<vector_mutants::count_before_put>());
  CHECK(are_appends_found<vector_mutants::size_of_claimed>());
  CHECK(are_appends_found<vector_mutants::none, false>());
  std::map<weak::site, bool> needed;
  for (auto const& what : append_programs()) {
    weak::model right = words_of(what);
    CHECK(search_appends(right, what, {3, 1}, 500) == "");
    for (auto const& [at, times] : right.sites()) {
      if (!is_chosen(at) || needed[at]) continue;
      weak::model m = words_of(what);
      weak::weakened const to{at, std::memory_order_relaxed};
      m.weaken(&to);
      needed[at] = !search_appends(m, what, {3, 1}, 5000).empty();
    }
  }
  CHECK(needed.size() == 2);
  for (auto const& [at, is_needed] : needed)
    CHECK_MESSAGE(is_needed, "no program notices a weaker ", to_string(at));
}

TEST_CASE(
    "vector: elements below the size are whole in orders of the emulated chip, and each step is needed") {
  if (!chosen(pgas::backends::scc::name)) return;
  long runs = 0;
  for (auto const& what : append_programs()) {
    auto const [more, wrong] =
        random_orders(1'000'000, seconds_for_orders() / 8, [&] { return play_appends_on_chip(what); });
    CHECK(wrong == "");
    runs += more;
  }
  std::cout << "covered: " << runs << " random orders of appends of 2 and 3 cores\n";
  few_switches("the appends of 2 cores", 1, seconds_for_orders() / 4, [] {
    return play_appends_on_chip({2, 1, 1});
  });
  CHECK(are_appends_found_on_chip<vector_mutants::count_before_put>());
  CHECK(are_appends_found_on_chip<vector_mutants::size_of_claimed>());
  CHECK(are_appends_found_on_chip<vector_mutants::none, false>());
}
