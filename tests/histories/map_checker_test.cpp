// SPDX-License-Identifier: BSL-1.0
// Wrong variants of the search through histories: each step that is left out lets a wrong history pass, or a
// right one fail, or makes the search reach its bound.
// test: unit histories
#include <doctest/doctest.h>

#include <optional>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/sequentially_consistent.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/histories/spec_queue.hpp>

#include "order_search_mutants.hpp"

namespace pgas_test::checker_suite {

using pgas::histories::finding;
using pgas::histories::history;
using pgas::histories::spec_map;
using pgas::histories::spec_queue;
using pgas::histories::detail::order_of;

using kv = spec_map<int, int>;
using key = spec_map<int, int>::part;  ///< one key of a map
using fifo = spec_queue<int>;
constexpr std::optional<int> absent;
constexpr std::size_t enough = 10'000;  // states

/// The right search finds `is`, and the one with a fault finds something else.
template <class Mutant, class S>
void differs(history<S> const& h, order_of kind, finding is, std::size_t most_states = enough) {
  using mutant = typename Mutant::template order_search<S>;
  CHECK(pgas::histories::detail::order_search<S>(h.records(), kind, most_states).run() == is);
  CHECK(mutant(h.records(), typename Mutant::order_of{static_cast<int>(kind)}, most_states).run() != is);
}

/// Many ranks that each write a key of their own, many times: there are many orders of them.
history<kv> with_noise(history<kv> h) {
  for (int rank = 10; rank < 16; ++rank)
    for (int i = 0; i < 30; ++i) h.add(rank, kv::update(rank, i), {}, i, i + 1);
  return h;
}

TEST_CASE("checker: a search that ignores times lets a late and an early value pass") {
  history<key> stale;
  stale.add(0, kv::update(1, 1), {}, 0, 1).add(1, kv::lookup(1), absent, 2, 3);
  differs<order_search_mutants::ignores_times>(stale, order_of::real_time, finding::wrong);
  history<key> early;
  early.add(1, kv::lookup(1), {7}, 1, 2).add_pending(0, kv::update(1, 7), 5);
  differs<order_search_mutants::ignores_pending_begin>(early, order_of::real_time, finding::wrong);
}

TEST_CASE("checker: a pending operation comes after those of its rank, and need not take effect") {
  history<key> overtaken;  // the rank sees what it writes later
  overtaken.add(0, kv::lookup(1), {7}, 0, 1).add_pending(0, kv::update(1, 7), 2);
  differs<order_search_mutants::pending_overtakes>(overtaken, order_of::programs, finding::wrong);
  history<fifo> waits;
  waits.add(0, fifo::try_pop(), absent, 0, 1).add_pending(1, fifo::pop(), 0);
  differs<order_search_mutants::pending_must_happen>(waits, order_of::real_time, finding::right);
}

TEST_CASE("checker: a search must go back, and must tell states of the object apart") {
  history<key> h;
  h.add(0, kv::update(1, 1), {}, 0, 10)
      .add(1, kv::update(1, 2), {}, 0, 20)
      .add(0, kv::lookup(1), {1}, 30, 31);
  differs<order_search_mutants::one_branch>(h, order_of::real_time, finding::right);
  differs<order_search_mutants::forgets_the_object>(h, order_of::real_time, finding::right);
}

TEST_CASE("checker: without the order that results need, a search reaches its bound") {
  history<kv> readers;  // two readers see two updates in opposite orders
  readers.add(0, kv::update(1, 1), {}, 0, 100).add(1, kv::update(2, 1), {}, 0, 100);
  readers.add(2, kv::lookup(1), {1}, 1, 2).add(2, kv::lookup(2), absent, 3, 4);
  readers.add(3, kv::lookup(2), {1}, 1, 2).add(3, kv::lookup(1), absent, 3, 4);
  differs<order_search_mutants::no_necessary_order>(with_noise(readers), order_of::programs, finding::wrong);
  history<fifo> values;  // the last push comes out second
  for (int i = 0; i < 14; ++i) values.add(i, fifo::push(i), {}, 0, 100);
  values.add(20, fifo::push(99), {}, 101, 102).add(20, fifo::pop(), {0}, 103, 104);
  values.add(20, fifo::pop(), {99}, 105, 106);
  differs<order_search_mutants::no_necessary_order>(values, order_of::real_time, finding::wrong);
}

TEST_CASE("checker: a read has a known write only if one write alone may have given its value") {
  history<kv> twice;
  twice.add(0, kv::update(1, 7), {}, 0, 1);
  twice.add(1, kv::lookup(1), {7}, 2, 3).add(1, kv::update(1, 8), {}, 4, 5);
  twice.add(2, kv::lookup(1), {8}, 6, 7).add(2, kv::update(1, 7), {}, 8, 9);
  differs<order_search_mutants::takes_any_write>(twice, order_of::programs, finding::right);
  history<kv> sum;
  sum.add(0, kv::update(1, 3), {}, 0, 1).add(0, kv::accumulate(1, 4), {}, 2, 3);
  sum.add(1, kv::lookup(1), {7}, 4, 5);
  differs<order_search_mutants::ignores_sums>(sum, order_of::programs, finding::right);
}

TEST_CASE("checker: values have a known order only if each occurs once and none leaves out of turn") {
  history<fifo> newest;
  newest.add(0, fifo::push(1), {}, 0, 1).add(0, fifo::push(2), {}, 2, 3);
  newest.add(0, fifo::take(), {2}, 4, 5).add(0, fifo::take(), {1}, 6, 7);
  differs<order_search_mutants::ignores_takes>(newest, order_of::real_time, finding::right);
  history<fifo> again;
  again.add(0, fifo::push(5), {}, 0, 1).add(0, fifo::pop(), {5}, 2, 3);
  again.add(0, fifo::push(5), {}, 4, 5).add(0, fifo::pop(), {5}, 6, 7);
  differs<order_search_mutants::values_are_unique>(again, order_of::real_time, finding::right);
  history<fifo> taken;  // the pending pop has taken the first value
  taken.add(0, fifo::push(1), {}, 0, 1).add(0, fifo::push(2), {}, 2, 3);
  taken.add_pending(1, fifo::pop(), 4).add(2, fifo::pop(), {2}, 5, 6);
  differs<order_search_mutants::pending_pops_nothing>(taken, order_of::real_time, finding::right);
}

/// A map whose specification does not say which lookups need an update.
struct careless_map : kv {
  static bool drops_with(auto const&, auto const&, std::ptrdiff_t) { return false; }
};

TEST_CASE("checker: a short wrong history keeps the updates whose values it shows") {
  auto const of = []<class S>(S) {
    history<S> h;
    h.add(0, kv::update(1, 1), {}, 0, 1).add(0, kv::update(1, 2), {}, 2, 3);
    h.add(1, kv::lookup(1), {2}, 4, 5).add(1, kv::lookup(1), {1}, 6, 7);
    return pgas::histories::check_sequentially_consistent(h);
  };
  CHECK(of(kv{}).shortest.size() >= 3);
  CHECK(of(careless_map{}).shortest.size() == 1);  // a lookup whose update was dropped
}

TEST_CASE("checker: sequential consistency is checked on all keys together") {
  history<kv> h;
  h.add(0, kv::update(2, 5), {}, 0, 1).add(0, kv::update(1, 6), {}, 2, 3);
  h.add(1, kv::lookup(1), {6}, 4, 5).add(1, kv::lookup(2), absent, 6, 7);
  CHECK(check_sequentially_consistent(h).found == finding::wrong);
  for (auto const& [name, part] : pgas::histories::detail::histories_of_parts(h))
    CHECK(pgas::histories::check_sequentially_consistent(part).right);
}

}  // namespace pgas_test::checker_suite
