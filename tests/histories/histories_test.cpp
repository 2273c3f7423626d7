// SPDX-License-Identifier: BSL-1.0
// The promises of the checkers of histories: histories by hand, all orders by brute force, objects with
// faults.
// test: addresses, threads, unit histories
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <mutex>
#include <numeric>
#include <pgas/detail/text/text.hpp>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/sequentially_consistent.hpp>
#include <pgas/histories/spec_counter.hpp>
#include <pgas/histories/spec_lock.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/histories/spec_queue.hpp>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace pgas_test::history_suite {

using namespace pgas::histories;

using kv = spec_map<int, int>;
using fifo = spec_queue<int>;
constexpr std::optional<int> absent;

double seconds_for_histories() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

/// Calls act(seed) until the time of a seeded case is over, and returns the number of calls. There are at
/// least four: under a sanitizer one seed of long histories takes five seconds.
template <class Act>
long for_seconds(Act const& act) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_for_histories());
  long seed = 0;
  for (; seed < 4 || std::chrono::steady_clock::now() < end; ++seed) act(static_cast<unsigned>(seed));
  return seed;
}

static_assert(std::is_trivially_copyable_v<record_of<kv>>);
static_assert(std::is_trivially_copyable_v<record_of<spec_lock>>);

// ---- All orders, by brute force ----

/// Tries all orders of all operations and of each choice of pending ones.
template <class S>
class brute_force {
 public:
  brute_force(history<S> const& of, bool real_time) : all_(of.records()), real_time_(real_time) {}

  bool explains() {
    std::vector<std::size_t> completed, pending;
    for (std::size_t i = 0; i < all_.size(); ++i) (all_[i].pending() ? pending : completed).push_back(i);
    for (unsigned chosen = 0; chosen < 1U << pending.size(); ++chosen) {
      std::vector<std::size_t> order = completed;
      for (std::size_t i = 0; i < pending.size(); ++i)
        if ((chosen >> i & 1U) != 0) order.push_back(pending[i]);
      std::sort(order.begin(), order.end());
      do {
        ++orders;
        if (is_legal(order)) return true;
      } while (std::next_permutation(order.begin(), order.end()));
    }
    return false;
  }

  long orders = 0;

 private:
  bool precedes(std::size_t a, std::size_t b) const {
    if (all_[a].pending()) return false;
    if (all_[a].rank == all_[b].rank) return a < b;
    return real_time_ && all_[a].end < all_[b].begin;
  }
  bool is_legal(std::vector<std::size_t> const& order) const {
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t k = i + 1; k < order.size(); ++k)
        if (precedes(order[k], order[i])) return false;
    typename S::state state{};
    return std::all_of(order.begin(), order.end(), [&](std::size_t i) { return S::apply(state, all_[i]); });
  }

  std::span<record_of<S> const> all_;
  bool real_time_;
};

// ---- Random histories ----

using source = std::mt19937;

int below(source& random, int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); }

template <class S>
struct random_call;

template <>
struct random_call<kv> {
  static kv::operation operation(source& random, int number) {
    int const key = below(random, 2);
    int const value = below(random, 4) == 0 ? 1 : number;  // values that repeat are harder
    switch (below(random, 8)) {
      case 0:
      case 1:
        return kv::update(key, value);
      case 2:
        return kv::erase(key);
      case 3:
        return kv::insert(key, value);
      case 4:
        return below(random, 2) == 0 ? kv::remove(key) : kv::accumulate(key, value);
      default:
        return kv::lookup(key);
    }
  }
  static kv::result right_result(std::vector<std::pair<int, int>>& state, record_of<kv> const& r) {
    record_of<kv> done = r;
    auto const at = std::find_if(state.begin(), state.end(),
                                 [&](auto const& entry) { return entry.first == r.operation.key; });
    bool const is_there = at != state.end();
    done.end = 0;
    done.result.value = is_there ? std::optional(at->second) : absent;
    if (r.operation.kind != map_call::lookup) done.result.value.reset();
    done.result.done = (r.operation.kind == map_call::insert && !is_there) ||
                       (r.operation.kind == map_call::remove && is_there);
    REQUIRE(kv::apply(state, done));
    return done.result;
  }
  static kv::result other_result(source& random, record_of<kv> const& r, kv::result const& right) {
    if (r.operation.kind != map_call::lookup) return {!right.done};
    return below(random, 3) == 0 ? kv::result{} : kv::result{std::optional<int>(below(random, 6))};
  }
};

template <>
struct random_call<fifo> {
  static fifo::operation operation(source& random, int number) {
    switch (below(random, 6)) {
      case 0:
        return fifo::take();
      case 1:
        return fifo::steal();
      case 2:
        return fifo::try_pop();
      default:
        return fifo::push(below(random, 5) == 0 ? 1 : number);
    }
  }
  static fifo::result right_result(std::vector<int>& state, record_of<fifo> const& r) {
    fifo::result result;
    if (r.operation.kind == queue_call::push) {
      state.push_back(r.operation.value);
    } else if (!state.empty() && r.operation.kind == queue_call::take) {
      result.value = state.back();
      state.pop_back();
    } else if (!state.empty()) {
      result.value = state.front();
      state.erase(state.begin());
    }
    return result;
  }
  static fifo::result other_result(source& random, record_of<fifo> const& r, fifo::result const& right) {
    if (r.operation.kind == queue_call::push) return right;
    return below(random, 3) == 0 ? fifo::result{} : fifo::result{std::optional<int>(below(random, 6))};
  }
};

template <>
struct random_call<spec_counter> {
  static counter_operation operation(source& random, int number) {
    switch (below(random, 5)) {
      case 0:
        return spec_counter::add(number);
      case 1:
        return spec_counter::store(number);
      case 2:
        return spec_counter::load();
      default:
        return spec_counter::fetch_add(1 + below(random, 2));
    }
  }
  static std::int64_t right_result(std::int64_t& state, record_of<spec_counter> const& r) {
    std::int64_t const before = state;
    state = r.operation.kind == counter_call::store ? r.operation.amount : state + r.operation.amount;
    return before;
  }
  static std::int64_t other_result(source& random, record_of<spec_counter> const&, std::int64_t right) {
    return right + below(random, 3) - 1;
  }
};

/// A history of `ranks` ranks that a right object may have: each operation takes effect between its times.
/// The program of a rank ends with a pending operation now and then. If `wrong`, results change at random.
/// With `ties`, times may be equal.
template <class S>
history<S> random_history(source& random, int ranks, int operations, bool wrong, bool ties) {
  struct running {
    record_of<S> record;
    bool has_effect = false;
    std::size_t place = 0;
  };
  std::vector<std::optional<running>> now(static_cast<std::size_t>(ranks));
  std::vector<bool> gone(static_cast<std::size_t>(ranks));
  std::vector<record_of<S>> records;
  typename S::state state{};
  moment time = 0;
  int begun = 0;
  auto const all_idle = [&] { return std::all_of(now.begin(), now.end(), [](auto& r) { return !r; }); };
  while (begun < operations || !all_idle()) {
    auto const rank = static_cast<std::size_t>(below(random, ranks));
    time += ties ? below(random, 2) : 1;
    auto& mine = now[rank];
    if (!mine) {
      if (begun == operations || gone[rank]) {
        if (std::all_of(gone.begin(), gone.end(), [](bool g) { return g; })) break;
        continue;
      }
      ++begun;
      mine.emplace();
      mine->record = {static_cast<int>(rank), random_call<S>::operation(random, begun), {}, time, never};
      mine->place = records.size();
      records.push_back(mine->record);
    } else if (!mine->has_effect) {
      if (below(random, 16) == 0) {  // the rank dies before the effect
        gone[rank] = true;
        mine.reset();
        continue;
      }
      mine->has_effect = true;
      mine->record.result = random_call<S>::right_result(state, mine->record);
    } else if (below(random, 16) == 0) {  // and after it
      gone[rank] = true;
      mine.reset();
    } else {
      mine->record.end = time;
      if (wrong && below(random, 4) == 0)
        mine->record.result = random_call<S>::other_result(random, mine->record, mine->record.result);
      records[mine->place] = mine->record;
      mine.reset();
    }
  }
  return history<S>(std::move(records));
}

/// A history of a map with a replica on each rank. A sequencer for each key modulo `sequencers` orders the
/// updates. A replica applies them late, up to its own last update.
history<kv> replicated_history(source& random, int ranks, int operations, int keys, int sequencers) {
  using logs = std::vector<std::vector<std::pair<int, std::optional<int>>>>;
  logs ordered(static_cast<std::size_t>(sequencers));
  struct replica {
    std::vector<std::size_t> applied;
    std::vector<std::optional<int>> values;
  };
  std::vector<replica> replicas(static_cast<std::size_t>(ranks));
  for (auto& r : replicas) r = {std::vector<std::size_t>(ordered.size()), {}};
  for (auto& r : replicas) r.values.resize(static_cast<std::size_t>(keys));
  auto const apply = [&](replica& to, std::size_t sequencer, std::size_t count) {
    for (auto& at = to.applied[sequencer]; count != 0; --count, ++at)
      to.values[static_cast<std::size_t>(ordered[sequencer][at].first)] = ordered[sequencer][at].second;
  };
  history<kv> h;
  for (int i = 0; i < operations; ++i) {
    for (auto& r : replicas) {
      for (std::size_t s = 0; s < ordered.size(); ++s) {
        std::size_t const late = ordered[s].size() - r.applied[s];
        if (late != 0 && below(random, 2 * ranks) == 0) apply(r, s, 1 + random() % late);
      }
    }
    int const rank = below(random, ranks), key = below(random, keys);
    replica& own = replicas[static_cast<std::size_t>(rank)];
    moment const begin = 2 * i;
    if (int const what = below(random, 8); what < 2) {
      auto const s = static_cast<std::size_t>(key % sequencers);
      ordered[s].emplace_back(key, what == 0 ? std::optional<int>(i) : absent);
      apply(own, s, ordered[s].size() - own.applied[s]);
      h.add(rank, what == 0 ? kv::update(key, i) : kv::erase(key), {}, begin, begin + 1);
    } else {
      h.add(rank, kv::lookup(key), {own.values[static_cast<std::size_t>(key)]}, begin, begin + 1);
    }
  }
  return h;
}

struct tally {
  long right = 0;
  long wrong = 0;
  long orders = 0;
};

/// Whether orders explain a history, as a whole or part by part.
template <class S>
bool has_linear_order(history<S> const& h, bool by_parts, long& orders) {
  if constexpr (object_of_parts<S>) {
    if (by_parts) {
      auto const parts = pgas::histories::detail::histories_of_parts(h);
      return std::all_of(parts.begin(), parts.end(),
                         [&](auto const& part) { return has_linear_order(part.second, false, orders); });
    }
  }
  brute_force<S> all(h, true);
  bool const is_right = all.explains();
  orders += all.orders;
  return is_right;
}

/// Compares both checkers with all orders. Where no times are equal, each part of a history is linearizable
/// if and only if the whole is.
template <class S>
void compare_with_all_orders(source& random, tally& linear, tally& sequential) {
  bool const ties = below(random, 2) == 0;
  auto const h =
      random_history<S>(random, 2 + below(random, 3), 2 + below(random, 5), below(random, 3) != 0, ties);
  brute_force<S> all_sequential(h, false);
  bool const is_linear = has_linear_order(h, ties, linear.orders);
  bool const is_sequential = all_sequential.explains();
  auto const v = check_linearizable(h);
  auto const w = check_sequentially_consistent(h);
  CHECK_MESSAGE(v.right == is_linear, v.text, table(h));
  CHECK_MESSAGE(w.right == is_sequential, w.text, table(h));
  CHECK((v.found == finding::wrong) == !is_linear);
  CHECK((w.found == finding::wrong) == !is_sequential);
  if (!is_linear) CHECK_FALSE(brute_force<S>(v.shortest, true).explains());
  if (!is_sequential) CHECK_FALSE(brute_force<S>(w.shortest, false).explains());
  (is_linear ? linear.right : linear.wrong) += 1;
  (is_sequential ? sequential.right : sequential.wrong) += 1;
  linear.orders += all_sequential.orders;
}

}  // namespace pgas_test::history_suite

using namespace pgas_test::history_suite;

TEST_CASE("histories: an operation may take effect at any moment between its call and its return" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 7), {}, 0, 10);
  h.add(1, kv::lookup(1), absent, 2, 3);
  h.add(1, kv::lookup(1), {7}, 4, 5);
  h.add(2, kv::erase(1), {}, 6, 20);
  h.add(3, kv::lookup(1), {7}, 11, 12);
  h.add(3, kv::lookup(1), absent, 13, 14);
  auto const verdict = check_linearizable(h);
  CHECK_MESSAGE(verdict.right, verdict.text);
  CHECK(verdict.text == "linearizable: 6 operations on 1 parts, 6 states");
}

TEST_CASE("histories: a lookup of the old value after one of the new value is wrong (figures 3.9 and 3.14)" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 5), {}, 0, 1);
  h.add(0, kv::update(1, 7), {}, 10, 20);
  h.add(1, kv::lookup(1), {7}, 11, 13);
  h.add(2, kv::lookup(1), {5}, 14, 16);
  auto const verdict = check_linearizable(h);
  CHECK(verdict.found == finding::wrong);
  CHECK(verdict.text ==
        "part 1: not linearizable: no order explains the results of these 4 of 4 operations\n"
        "  rank   operation      result   begin       end\n"
        "     0   update(1, 5)                0         1\n"
        "     0   update(1, 7)               10   pending\n"
        "     1   lookup(1)      7           11        13\n"
        "     2   lookup(1)      5           14        16\n");
  auto const relaxed = check_sequentially_consistent(h);
  CHECK_MESSAGE(relaxed.right, relaxed.text);
}

TEST_CASE("histories: a lookup of the old value after a completed update is wrong (figures 3.9 and 3.14)" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 7), {}, 0, 10);
  h.add(1, kv::lookup(1), absent, 11, 12);
  CHECK(check_linearizable(h).found == finding::wrong);
  CHECK(check_linearizable(h).shortest.size() == 2);
  CHECK(check_sequentially_consistent(h).right);
}

TEST_CASE("histories: one rank's lookup of the old value after its own update is wrong in every order" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 7), {}, 0, 10);
  h.add(0, kv::lookup(1), absent, 10, 10);
  CHECK(check_linearizable(h).found == finding::wrong);
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
}

TEST_CASE("histories: operations that end and begin at one moment may come in both orders" *
          doctest::test_suite("serial")) {
  for (auto const& seen : {kv::result{7}, kv::result{}}) {
    history<kv> h;
    h.add(0, kv::update(1, 7), {}, 0, 10);
    h.add(1, kv::lookup(1), seen, 10, 12);
    CHECK(check_linearizable(h).right);
  }
  history<kv> h;  // but not one rank's
  h.add(0, kv::update(1, 7), {}, 5, 5);
  h.add(0, kv::update(1, 8), {}, 5, 5);
  h.add(1, kv::lookup(1), {8}, 5, 5);
  h.add(1, kv::lookup(1), {7}, 5, 5);
  CHECK(check_linearizable(h).found == finding::wrong);
}

TEST_CASE("histories: readers that see two independent updates in opposite orders are not consistent" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 1), {}, 0, 100);
  h.add(1, kv::update(2, 1), {}, 0, 100);
  h.add(2, kv::lookup(1), {1}, 1, 2).add(2, kv::lookup(2), absent, 3, 4);
  h.add(3, kv::lookup(2), {1}, 1, 2).add(3, kv::lookup(1), absent, 3, 4);
  auto const verdict = check_sequentially_consistent(h);
  CHECK(verdict.found == finding::wrong);
  CHECK(verdict.shortest.size() == 6);
  CHECK(check_linearizable(h).found == finding::wrong);

  history<kv> same_order;
  same_order.add(0, kv::update(1, 1), {}, 0, 100).add(1, kv::update(2, 1), {}, 0, 100);
  same_order.add(2, kv::lookup(1), {1}, 1, 2).add(2, kv::lookup(2), absent, 3, 4);
  same_order.add(3, kv::lookup(1), {1}, 1, 2).add(3, kv::lookup(2), {1}, 3, 4);
  auto const relaxed = check_sequentially_consistent(same_order);
  CHECK_MESSAGE(relaxed.right, relaxed.text);
}

TEST_CASE("histories: sequential consistency does not compose (figure 3.17)" *
          doctest::test_suite("serial")) {
  history<kv> h;  // a client updates key 2 and then key 1; the message about key 2 is late
  h.add(0, kv::update(2, 5), {}, 0, 1).add(0, kv::update(1, 6), {}, 2, 3);
  h.add(1, kv::lookup(1), {6}, 4, 5).add(1, kv::lookup(2), absent, 6, 7);
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
  for (int const key : {1, 2}) {
    history<kv> part;
    for (auto const& r : h.records())
      if (r.operation.key == key) part.append(std::span(&r, 1));
    CHECK(check_sequentially_consistent(part).right);
  }
}

TEST_CASE("histories: a stale lookup is consistent if its rank learns nothing newer" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::update(1, 1), {}, 0, 1).add(0, kv::update(1, 2), {}, 2, 3).add(0, kv::update(2, 9), {}, 4, 5);
  h.add(1, kv::lookup(1), {1}, 10, 11).add(1, kv::lookup(1), {1}, 12, 13).add(1, kv::lookup(1), {2}, 14, 15);
  CHECK(check_sequentially_consistent(h).right);
  CHECK(check_linearizable(h).found == finding::wrong);
  h.add(1, kv::lookup(2), {9}, 16, 17).add(1, kv::lookup(1), {1}, 18, 19);  // older than what it has seen
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
}

TEST_CASE("histories: a pending update takes effect at any later time, or never" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add_pending(0, kv::update(1, 7), 5);
  h.add(1, kv::lookup(1), absent, 6, 7);
  CHECK(check_linearizable(h).right);
  h.add(1, kv::lookup(1), {7}, 100, 101);
  CHECK(check_linearizable(h).right);
  CHECK(check_sequentially_consistent(h).right);
  h.add(1, kv::lookup(1), absent, 102, 103);
  CHECK(check_linearizable(h).found == finding::wrong);
  CHECK(check_sequentially_consistent(h).found == finding::wrong);

  history<kv> early;
  early.add(1, kv::lookup(1), {7}, 1, 2).add_pending(0, kv::update(1, 7), 5);
  CHECK(check_linearizable(early).found == finding::wrong);
  CHECK(check_sequentially_consistent(early).right);  // its times do not matter

  history<kv> after;  // the rank went on after an operation that never returned
  after.add_pending(0, kv::update(1, 7), 0).add(0, kv::lookup(1), absent, 1, 2);
  after.add(0, kv::lookup(1), {7}, 3, 4);
  CHECK(check_linearizable(after).right);
  CHECK(check_sequentially_consistent(after).right);
}

TEST_CASE("histories: an erased key is absent, and inserts and removes tell what they found" *
          doctest::test_suite("serial")) {
  history<kv> h;
  h.add(0, kv::insert(1, 7), {true}, 0, 1).add(0, kv::insert(1, 8), {false}, 2, 3);
  h.add(0, kv::lookup(1), {7}, 4, 5).add(0, kv::remove(1), {true}, 6, 7).add(0, kv::remove(1), {false}, 8, 9);
  h.add(0, kv::accumulate(1, 3), {}, 10, 11).add(0, kv::accumulate(1, 4), {}, 12, 13);
  h.add(0, kv::lookup(1), {7}, 14, 15).add(0, kv::erase(1), {}, 16, 17).add(0, kv::lookup(1), absent, 18, 19);
  auto const verdict = check_linearizable(h);
  CHECK_MESSAGE(verdict.right, verdict.text);
  CHECK(check_sequentially_consistent(h).right);
  auto twice = h;
  twice.add(1, kv::remove(1), {true}, 30, 31);
  CHECK(check_linearizable(twice).found == finding::wrong);
  auto ghost = h;
  ghost.add(1, kv::lookup(1), {7}, 30, 31);
  CHECK(check_linearizable(ghost).found == finding::wrong);
}

TEST_CASE("histories: keys and values may be texts" * doctest::test_suite("serial")) {
  using words = spec_map<std::string, std::string>;
  history<words> h;
  h.add(0, words::update("a", "x"), {}, 0, 1).add(0, words::update("b", "y"), {}, 2, 3);
  h.add(1, words::lookup("b"), std::optional<std::string>("y"), 4, 5);
  CHECK(check_linearizable(h).right);
  h.add(1, words::lookup("a"), std::optional<std::string>(), 6, 7);
  auto const verdict = check_linearizable(h);
  CHECK(verdict.text ==
        "part \"a\": not linearizable: no order explains the results of these 2 of 2 operations\n"
        "  rank   operation          result   begin   end\n"
        "     0   update(\"a\", \"x\")                0     1\n"
        "     1   lookup(\"a\")        absent       6     7\n");
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
}

TEST_CASE("histories: a queue that gives the second value first is wrong" * doctest::test_suite("serial")) {
  history<fifo> h;
  h.add(0, fifo::push(1), {}, 0, 1).add(0, fifo::push(2), {}, 2, 3);
  auto overlapping = h;
  overlapping.add(1, fifo::pop(), {2}, 4, 9).add(2, fifo::try_pop(), {1}, 5, 8);
  CHECK(check_linearizable(overlapping).right);
  h.add(1, fifo::pop(), {2}, 4, 5).add(1, fifo::pop(), {1}, 6, 7);
  auto const verdict = check_linearizable(h);
  CHECK(verdict.found == finding::wrong);
  CHECK(verdict.shortest.size() == 3);  // the fault shows before the last pop
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
}

TEST_CASE("histories: a queue gives each value once, and is not empty while it has one" *
          doctest::test_suite("serial")) {
  history<fifo> twice;
  twice.add(0, fifo::push(1), {}, 0, 1).add(1, fifo::pop(), {1}, 2, 9).add(2, fifo::pop(), {1}, 3, 8);
  CHECK(check_linearizable(twice).found == finding::wrong);
  history<fifo> empty;
  empty.add(0, fifo::push(1), {}, 0, 1).add(1, fifo::try_pop(), absent, 2, 3);
  CHECK(check_linearizable(empty).found == finding::wrong);
  CHECK(check_sequentially_consistent(empty).right);
  history<fifo> from_pending;
  from_pending.add_pending(0, fifo::push(1), 0).add(1, fifo::try_pop(), absent, 2, 3);
  from_pending.add(1, fifo::try_pop(), {1}, 4, 5);
  CHECK(check_linearizable(from_pending).right);
  using small = spec_queue<int, 1>;
  history<small> full;
  full.add(0, small::push(1), {true}, 0, 1).add(0, small::push(2), {false}, 2, 3);
  full.add(0, small::pop(), {1}, 4, 5).add(0, small::push(3), {true}, 6, 7);
  CHECK(check_linearizable(full).right);
  full.add(1, small::push(4), {true}, 8, 9);
  CHECK(check_linearizable(full).found == finding::wrong);
}

TEST_CASE("histories: of a queue whose work is stolen each value goes to one rank" *
          doctest::test_suite("serial")) {
  history<fifo> h;
  for (int i = 0; i < 10; ++i) h.add(0, fifo::push(i), {}, 2 * i, 2 * i + 1);
  for (int i = 0; i < 4; ++i) h.add(0, fifo::take(), {9 - i}, 30 + 2 * i, 31 + 2 * i);
  h.add(1, fifo::steal(), {0}, 25, 28)
      .add(2, fifo::steal(), absent, 25, 28)
      .add(2, fifo::steal(), {1}, 29, 40);
  CHECK(check_linearizable(h).right);
  auto newest = h;
  newest.add(1, fifo::steal(), {5}, 50, 51);  // a thief takes the oldest
  CHECK(check_linearizable(newest).found == finding::wrong);
  for (int i = 0; i < 3; ++i) h.add(0, fifo::take(), {5 - i}, 50 + 2 * i, 51 + 2 * i);
  h.add(0, fifo::take(), {2}, 60, 70).add(1, fifo::steal(), {2}, 65, 75);  // both take the last value
  auto const verdict = check_linearizable(h);
  CHECK(verdict.found == finding::wrong);
  CHECK_MESSAGE(verdict.shortest.size() == 3, verdict.text);
}

TEST_CASE("histories: a lock with two holders is wrong" * doctest::test_suite("serial")) {
  using enum lock_call;
  history<spec_lock> h;
  h.add(0, lock, true, 0, 1).add(0, unlock, true, 10, 12);
  auto right = h;
  right.add(1, lock, true, 2, 11).add(2, try_lock, false, 3, 4).add(1, unlock, true, 13, 14);
  CHECK(check_linearizable(right).right);
  for (int turn = 0; turn < 5; ++turn)
    h.add(2, lock, true, 20 + turn * 10, 22 + turn * 10).add(2, unlock, true, 25 + turn * 10, 26 + turn * 10);
  h.add(0, lock, true, 100, 110).add(1, try_lock, true, 105, 115).add(0, unlock, true, 120, 121);
  auto const verdict = check_linearizable(h);
  CHECK(verdict.found == finding::wrong);
  CHECK(verdict.shortest.size() == 2);
  INFO(verdict.text);
  CHECK(verdict.text.find("1   try_lock()   true") != std::string::npos);
}

TEST_CASE("histories: sharers of a lock exclude the others only" * doctest::test_suite("serial")) {
  using enum lock_call;
  history<spec_lock> h;
  h.add(0, lock_shared, true, 0, 1).add(1, try_lock_shared, true, 0, 1).add(2, try_lock, false, 2, 3);
  h.add(0, unlock_shared, true, 4, 5).add(1, unlock_shared, true, 6, 7).add(2, lock, true, 4, 8);
  CHECK(check_linearizable(h).right);
  auto both = h;
  both.add(0, lock_shared, true, 9, 10);
  CHECK(check_linearizable(both).found == finding::wrong);
  h.add(0, unlock, true, 9, 10);  // of a lock that another rank holds
  CHECK(check_linearizable(h).found == finding::wrong);
}

TEST_CASE("histories: a counter that loses an increment is wrong" * doctest::test_suite("serial")) {
  history<spec_counter> h;
  for (int i = 0; i < 20; ++i) h.add(i % 2, spec_counter::fetch_add(1), i, 10 * i, 10 * i + 15);
  CHECK(check_linearizable(h).right);
  auto lost = h;
  lost.add(0, spec_counter::fetch_add(1), 20, 300, 305).add(1, spec_counter::fetch_add(1), 20, 301, 306);
  CHECK(check_linearizable(lost).found == finding::wrong);
  CHECK(check_sequentially_consistent(lost).found == finding::wrong);
  h.add(0, spec_counter::load(), 19, 400, 401);
  CHECK(check_linearizable(h).found == finding::wrong);
  CHECK(check_sequentially_consistent(h).right);
}

TEST_CASE("histories: a search that reaches its bound says undecided" * doctest::test_suite("serial")) {
  history<fifo> h;  // 12 pushes that overlap, and one value that is taken twice
  for (int i = 0; i < 12; ++i) h.add(i, fifo::push(i), {}, 0, 100);
  for (int i = 0; i < 12; ++i) h.add(20, fifo::take(), {i == 11 ? 0 : i}, 200 + i, 200 + i);
  auto const verdict = check_linearizable(h, {.most_states = 1000});
  CHECK(verdict.found == finding::undecided);
  CHECK_FALSE(verdict.right);
  CHECK(verdict.text.starts_with("undecided after 1001 states whether 24 operations are linearizable"));
}

TEST_CASE("histories: records that no rank can have made are refused" * doctest::test_suite("serial")) {
  history<kv> backwards;
  backwards.add(0, kv::lookup(1), absent, 5, 4);
  CHECK_THROWS_WITH_AS(static_cast<void>(check_linearizable(backwards)),
                       doctest::Contains("begins at 5 and ends before that, at 4"), std::invalid_argument);
  history<kv> at_once;
  at_once.add(0, kv::lookup(1), absent, 0, 4).add(0, kv::lookup(1), absent, 3, 5);
  CHECK_THROWS_WITH_AS(static_cast<void>(check_sequentially_consistent(at_once)),
                       doctest::Contains("give each thread that calls a rank of its own"),
                       std::invalid_argument);
}

TEST_CASE("histories: both checkers agree with all orders of small histories" *
          doctest::test_suite("serial")) {
  tally linear, sequential;
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    compare_with_all_orders<kv>(random, linear, sequential);
    compare_with_all_orders<fifo>(random, linear, sequential);
    compare_with_all_orders<spec_counter>(random, linear, sequential);
  });
  CHECK(linear.right > 0);
  CHECK(linear.wrong > 0);
  CHECK(sequential.wrong > 0);
  std::cout << "covered: " << 3 * seeds << " histories of maps, queues and counters, " << linear.wrong
            << " not linearizable, " << sequential.wrong << " not sequentially consistent, against "
            << linear.orders << " orders\n";
}

TEST_CASE("histories: replicas with one sequencer are consistent, and with two sometimes are not" *
          doctest::test_suite("serial")) {
  long wrong = 0, undecided = 0, late = 0, orders = 0;
  std::size_t states = 0;
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    auto const one = replicated_history(random, 8, 200, 6, 1);
    auto const verdict = check_sequentially_consistent(one);
    CHECK_MESSAGE(verdict.right, verdict.text);
    states = std::max(states, verdict.states);
    late += check_linearizable(one, {.most_checks = 0}).right ? 0 : 1;
    auto const two =
        check_sequentially_consistent(replicated_history(random, 8, 200, 6, 2), {.most_checks = 0});
    wrong += two.found == finding::wrong ? 1 : 0;
    undecided += two.found == finding::undecided ? 1 : 0;
    for (int turn = 0; turn < 40; ++turn) {
      auto const h = replicated_history(random, 4, 8, 2, 1 + turn % 2);
      brute_force<kv> all(h, false);
      bool const is_right = all.explains();
      orders += all.orders;
      auto const v = check_sequentially_consistent(h);
      CHECK_MESSAGE(v.right == is_right, v.text, table(h));
      if (!is_right) CHECK_FALSE(brute_force<kv>(v.shortest, false).explains());
    }
  });
  CHECK(wrong > 0);
  CHECK(late > 0);
  std::cout << "covered: " << 2 * seeds << " histories of 200 operations on replicas, in up to " << states
            << " states, " << late << " of " << seeds << " with one sequencer not linearizable, " << wrong
            << " with two not consistent and " << undecided << " undecided; small ones against " << orders
            << " orders\n";
}

TEST_CASE("histories: a right history stays right when operations leave it with their companions" *
          doctest::test_suite("serial")) {
  long left = 0;
  auto const drop_some = [&]<class S>(source& random, S) {
    auto const h = random_history<S>(random, 3, 12, false, true);
    pgas::histories::detail::companions<S> const with(h.records());
    for (int turn = 0; turn < 8; ++turn) {
      std::vector<bool> kept(h.size(), true);
      for (int n = 0; n <= turn % 3; ++n)
        with.drop(static_cast<std::size_t>(below(random, static_cast<int>(h.size()))), kept);
      history<S> rest;
      for (std::size_t i = 0; i < h.size(); ++i)
        if (kept[i]) rest.append(h.records().subspan(i, 1));
      left += rest.size() < h.size() && rest.size() > 0 ? 1 : 0;
      auto const v = check_linearizable(rest);
      auto const w = check_sequentially_consistent(rest);
      REQUIRE_MESSAGE((v.right && w.right), v.text, w.text, table(h));
      auto const part = check_linearizable(until(h, static_cast<moment>(below(random, 20))));
      REQUIRE_MESSAGE(part.right, part.text, table(h));
    }
  };
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    drop_some(random, kv{});
    drop_some(random, fifo{});
    drop_some(random, spec_counter{});
  });
  CHECK(left > 0);
  std::cout << "covered: " << left << " right histories with fewer operations, from " << 3 * seeds << "\n";
}

TEST_CASE("histories: one fault among a thousand operations is found and shown alone" *
          doctest::test_suite("serial")) {
  using big_clock = std::chrono::steady_clock;
  double slowest_right = 0, slowest_wrong = 0;
  std::size_t longest = 0;
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    history<kv> h;  // eight clients on one key: each operation takes effect in the middle of its time
    std::vector<moment> free(8);
    std::optional<int> value;
    moment last_update = 0;
    for (int i = 0; i < 1000; ++i) {
      auto const client = static_cast<std::size_t>(std::min_element(free.begin(), free.end()) - free.begin());
      moment const middle = 10 * i + 1000, before = below(random, 35), after = below(random, 35);
      moment const begin = std::max(free[client], middle - before);
      if (below(random, 10) == 0) {
        value = i;
        h.add(static_cast<int>(client), kv::update(0, i), {}, begin, middle + after);
        last_update = middle + after;
      } else {
        h.add(static_cast<int>(client), kv::lookup(0), {value}, begin, middle + after);
      }
      free[client] = middle + after;
    }
    auto begin = big_clock::now();
    auto const right = check_linearizable(h);
    slowest_right = std::max(slowest_right, std::chrono::duration<double>(big_clock::now() - begin).count());
    CHECK_MESSAGE(right.right, right.text);
    h.add(9, kv::lookup(0), {0}, last_update + 1000, last_update + 1001);  // a value never written or old
    std::vector<record_of<kv>> stale(h.records().begin(), h.records().end());
    auto& victim = stale[500 + static_cast<std::size_t>(below(random, 500))];
    h = history<kv>(stale);
    if (victim.operation.kind == map_call::lookup) {
      stale.pop_back();
      victim.result = absent;  // as if the lookup had come before all updates
      h = history<kv>(stale);
    }
    begin = big_clock::now();
    auto const wrong = check_linearizable(h);
    slowest_wrong = std::max(slowest_wrong, std::chrono::duration<double>(big_clock::now() - begin).count());
    CHECK_MESSAGE(wrong.found == finding::wrong, wrong.text);
    longest = std::max(longest, wrong.shortest.size());
    CHECK_MESSAGE(wrong.shortest.size() <= 2, wrong.text);
  });
  std::cout << "covered: " << seeds
            << " histories of 1000 operations on one key by 8 clients, checked in up to "
            << slowest_right * 1e3 << " ms, and with a fault shortened to at most " << longest
            << " operations in up to " << slowest_wrong * 1e3 << " ms\n";
}

TEST_CASE("histories: the order of a long queue is found, and a wrong order of two values is shown alone" *
          doctest::test_suite("serial")) {
  double slowest = 0;
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    std::vector<record_of<fifo>> records;
    std::vector<int> queue;
    std::vector<moment> free(8);
    for (int i = 0; i < 200; ++i) {
      auto const rank = static_cast<std::size_t>(std::min_element(free.begin(), free.end()) - free.begin());
      moment const effect = 10 * i + 100, end = effect + below(random, 35);
      moment const begin = std::max(free[rank], effect - below(random, 35));
      free[rank] = end;
      record_of<fifo> r{static_cast<int>(rank),
                        i < 60 || below(random, 2) == 0 ? fifo::push(i) : fifo::try_pop(),
                        {},
                        begin,
                        end};
      r.result = random_call<fifo>::right_result(queue, r);
      records.push_back(r);
    }
    auto const begin = std::chrono::steady_clock::now();
    auto const right = check_linearizable(history<fifo>(records), {.most_states = 10'000});
    slowest =
        std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    CHECK_MESSAGE(right.right, right.text);
    std::vector<std::size_t> pops;
    for (std::size_t i = 0; i < records.size(); ++i)
      if (records[i].operation.kind == queue_call::try_pop && records[i].result.value) pops.push_back(i);
    std::swap(records[pops[0]].result, records[pops[20]].result);
    auto const wrong = check_linearizable(history<fifo>(records), {.most_states = 10'000});
    CHECK_MESSAGE(wrong.found == finding::wrong, wrong.text);
    CHECK_MESSAGE(wrong.shortest.size() <= 4, wrong.text);
  });
  std::cout << "covered: " << seeds << " histories of 200 operations on a queue by 8 ranks, checked in up to "
            << slowest * 1e3 << " ms\n";
}

TEST_CASE("histories: the patterns of the thesis are shown alone, without the operations around them" *
          doctest::test_suite("serial")) {
  std::size_t states = 0;
  long const seeds = for_seconds([&](unsigned seed) {
    CAPTURE(seed);
    source random(seed);
    history<kv> h = random_history<kv>(random, 4, 60, false, false);
    REQUIRE(check_linearizable(h).right);
    moment const now = 1000;
    history<kv> pattern;
    pattern.add(10, kv::update(9, 90), {}, now, now + 10);
    pattern.add(11, kv::update(8, 80), {}, now, now + 10);
    pattern.add(12, kv::lookup(9), {90}, now + 1, now + 2).add(12, kv::lookup(8), absent, now + 3, now + 4);
    pattern.add(13, kv::lookup(8), {80}, now + 1, now + 2).add(13, kv::lookup(9), absent, now + 3, now + 4);
    auto independent_reads = h;
    independent_reads.append(pattern.records());
    auto const verdict = check_sequentially_consistent(independent_reads, {.most_states = 3'000'000});
    states = std::max(states, verdict.states);
    CHECK_MESSAGE(verdict.shortest == pattern, verdict.text);

    history<kv> new_then_old;
    new_then_old.add_pending(10, kv::update(9, 90), now);
    new_then_old.add(12, kv::lookup(9), {90}, now + 1, now + 2)
        .add(13, kv::lookup(9), absent, now + 3, now + 4);
    h.append(new_then_old.records());
    CHECK(check_linearizable(h).shortest == new_then_old);
  });
  std::cout << "covered: " << seeds << " histories with a pattern among 60 operations, in up to " << states
            << " states\n";
}

TEST_CASE("histories: a recorder writes down calls, results and operations that do not return" *
          doctest::test_suite("serial")) {
  moment now = 0;
  auto const clock = [&now] { return now += 5; };
  recorder<kv, decltype(clock)> first(3, clock);
  CHECK(first.call(kv::lookup(1), [] { return std::optional<int>(4); }) == 4);
  first.call(kv::update(1, 5), [] {});
  CHECK(first.call(kv::insert(2, 1), [] { return true; }));
  CHECK_THROWS(first.call(kv::erase(1), []() -> void { throw 1; }));
  history<kv> expected;
  expected.add(3, kv::lookup(1), {4}, 5, 10).add(3, kv::update(1, 5), {}, 15, 20);
  expected.add(3, kv::insert(2, 1), {true}, 25, 30).add_pending(3, kv::erase(1), 35);
  CHECK(first.so_far() == expected);
  recorder<kv> second(4);
  second.call(kv::lookup(9), [] { return std::optional<int>(); });
  std::vector<history<kv>> const ranks{first.so_far(), second.so_far()};
  auto const all = join(std::span(ranks));
  CHECK(all.size() == 5);
  CHECK(all.records()[4].rank == 4);
}

namespace {

/// A map of one value that threads share, right with a mutex and wrong without.
struct shared_number {
  std::mutex mutex;
  std::int64_t value = 0;
};

}  // namespace

TEST_CASE("histories: threads that add under a mutex are linearizable in real time") {
  long operations = 0;
  long const rounds = for_seconds([&](unsigned) {
    shared_number number;
    std::vector<recorder<spec_counter>> recorders;
    for (int rank = 0; rank < 3; ++rank) recorders.emplace_back(rank);
    std::vector<std::thread> threads;
    for (auto& mine : recorders) {
      threads.emplace_back([&] {
        for (int i = 0; i < 30; ++i) {
          mine.call(spec_counter::fetch_add(1), [&] {
            std::scoped_lock const guard(number.mutex);
            return number.value++;
          });
        }
      });
    }
    for (auto& t : threads) t.join();
    history<spec_counter> all;
    for (auto const& mine : recorders) all.append(mine.records());
    auto const verdict = check_linearizable(all);
    REQUIRE_MESSAGE(verdict.right, verdict.text);
    operations += static_cast<long>(all.size());
  });
  std::cout << "covered: " << rounds << " runs of three threads with " << operations << " operations\n";
}
