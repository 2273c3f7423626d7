// SPDX-License-Identifier: BSL-1.0
// The protocol of distributed_map on words that show old values as C++ allows, in all orders of two or three
// ranks within bounds. Each memory order that matters is weakened, and each step left out: a search finds
// both.
// test: optimized, unit searches
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <pgas/detail/containers/map_chain.hpp>
#include <pgas/detail/containers/map_home_line.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributed_map_mutants.hpp"
#include "support/weak/model.hpp"

namespace pgas_test::map_orders {

using pgas::map_policy;
using pgas::rank_t;
using pgas::word;
using pgas::detail::map_shape;
using right = distributed_map_mutants::none;

/// A value of two words, which are the same unless a reader has mixed two values.
struct pair {
  word a = 0, b = 0;
};

/// The purpose of a word of a part. Words that are alike have one name in a site.
enum class role : std::size_t { used, state, next, slot };

/// One home bucket and one overflow bucket: the fourth key needs the overflow bucket.
template <class Value, class Mutant = right>
struct part {
  static constexpr std::size_t bucket = pgas::detail::bucket_layout<word, Value>::words;
  static constexpr typename Mutant::map_shape shape{6, 1, 1, bucket};

  static std::size_t role_of(rank_t, bool, std::size_t i) {
    if (i < map_shape::first) return static_cast<std::size_t>(role::used);
    std::size_t const at = (i - map_shape::first) % bucket;
    return static_cast<std::size_t>(at == 0 ? role::state : at == 1 ? role::next : role::slot);
  }
};

/// The words of a part, with the orders of `map_words` in near memory.
class near_words {
 public:
  static constexpr bool by_single_words = true;

  near_words(weak::model& m, rank_t self) : model_(&m), self_(self) {}

  [[nodiscard]] std::uint64_t load(std::size_t at) const {
    return model_->load(self_, number(at), site("load", at, std::memory_order_acquire));
  }
  void store(std::size_t at, std::uint64_t value) const {
    model_->store(self_, number(at), value, site("store", at, std::memory_order_release));
  }
  [[nodiscard]] bool replace(std::size_t at, std::uint64_t expected, std::uint64_t desired) const {
    return model_->compare_exchange(self_, number(at), expected, desired,
                                    site("replace", at, std::memory_order_acq_rel));
  }
  [[nodiscard]] std::uint64_t fetch_add(std::size_t at, std::uint64_t value) const {
    return model_->modify(self_, number(at), site("fetch_add", at, std::memory_order_acq_rel),
                          [&](word old) { return old + value; });
  }
  template <class Op>
  void accumulate(std::size_t at, std::uint64_t value, Op op) const {
    model_->modify(self_, number(at), site("accumulate", at, std::memory_order_acq_rel),
                   [&](word old) { return op(old, value); });
  }
  template <std::size_t N>
  [[nodiscard]] std::array<std::uint64_t, N> read(std::size_t first) const {
    std::array<std::uint64_t, N> words;
    for (std::size_t i = 0; i < N; ++i) words[i] = load(first + i);
    return words;
  }
  void write(std::size_t first, std::span<std::uint64_t const> words) const {
    for (std::size_t i = 0; i < words.size(); ++i) store(first + i, words[i]);
  }

 private:
  [[nodiscard]] std::size_t number(std::size_t at) const { return model_->number(0, at); }
  [[nodiscard]] weak::site site(char const* what, std::size_t at, std::memory_order order) const {
    return {what, true, model_->role(true, at), order};
  }

  weak::model* model_;
  rank_t self_;
};

struct equal_words {
  bool operator()(word a, word b) const noexcept { return a == b; }
};

/// The part of a window's state that a chain needs: a pause lets the other ranks run.
struct pausing_state {
  struct paused {
    std::string_view operation;
  };
  struct control_type {
    weak::model* model;
    rank_t self;
    void pause(unsigned, paused const&) const { model->pause(self); }
  } control;
};

/// The way of lookups, and of changes without a lock.
enum class way {
  whole,     ///< map_chain alone
  short_one  ///< map_home_line first, as distributed_map goes in near memory
};

/// A map of one part with one chain, as one rank sees it.
template <class Value, map_policy Policy, way Way, class Mutant>
class small_map {
  static constexpr bool is_short = Way == way::short_one;

  using chain_type =
      typename Mutant::template map_chain<pausing_state, near_words, word, Value, Policy, equal_words>;
  using map_change = typename Mutant::map_change;

 public:
  small_map(weak::model& m, rank_t self) : state_{{&m, self}}, words_(m, self) {}

  /// Calls use(chain of a key).
  template <class Use>
  auto operator()(word key, Use const& use) {
    return use(
        chain_type(state_, words_, part<Value, Mutant>::shape, 0, static_cast<unsigned>(key), equal_, "map"));
  }
  bool insert(word key, Value value) {
    if constexpr (is_short) {
      if (auto const made = line().insert(key, static_cast<unsigned>(key) & 0x7fU, value)) return *made;
    }
    return (*this)(key, [&](auto const& c) { return c.insert(key, value); }) == map_change::made;
  }
  void assign(word key, Value value) {
    if constexpr (is_short) {
      if (line().assign(key, value)) return;
    }
    static_cast<void>((*this)(key, [&](auto const& c) { return c.assign(key, value); }));
  }
  void add(word key, Value value) {
    if constexpr (is_short) {
      if (line().accumulate(key, value, pgas::op::sum{})) return;
    }
    static_cast<void>((*this)(key, [&](auto const& c) { return c.accumulate(key, value, pgas::op::sum{}); }));
  }
  bool erase(word key) {
    return (*this)(key, [&](auto const& c) { return c.erase(key); }) == map_change::made;
  }
  std::optional<Value> lookup(word key) {
    if constexpr (is_short) {
      std::optional<Value> value;
      if (line().lookup(key, value)) return value;
    }
    return (*this)(key, [&](auto const& c) { return c.lookup(key); });
  }

 private:
  [[nodiscard]] auto line() const {
    return typename Mutant::template map_home_line<near_words, word, Value, Policy>(words_, 0);
  }

  pausing_state state_;
  near_words words_;
  equal_words equal_;
};

void require_that(bool is_so, char const* otherwise) {
  if (!is_so) throw weak::violation(otherwise);
}
void require_whole(std::optional<pair> const& found) {
  require_that(!found || found->a == found->b, "a value of two halves");
}

/// A program of a few ranks on one map.
template <class Value, map_policy Policy, way Way = way::whole, class Mutant = right>
struct program {
  char const* name;
  rank_t ranks;
  void (*act)(small_map<Value, Policy, Way, Mutant>&, rank_t);
};

/// Programs on values of two words, whose slots other keys take over.
template <map_policy Policy, class Mutant = right>
std::vector<program<pair, Policy, way::whole, Mutant>> programs_of_pairs() {
  using map = small_map<pair, Policy, way::whole, Mutant>;
  return {
      {"a value changes while another rank reads it", 2,
       [](map& m, rank_t self) {
         if (self == 0)
           for (word i = 1; i <= 2; ++i) m.assign(1, {i, i});
         else
           for (word last = 0, i = 0; i < 2; ++i) {
             auto const found = m.lookup(1);
             require_whole(found);
             word const now = found ? found->a : 0;
             require_that(now >= last, "an older value after a newer one");
             last = now;
           }
       }},
      {"another key takes the slot of an erased one", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           m.assign(1, {1, 1});
           m.erase(1);
           m.assign(129, {2, 2});  // the same tag
         } else {
           auto const found = m.lookup(1);
           require_whole(found);
           require_that(!found || found->a == 1, "the value of another key");
         }
       }},
      {"two ranks change one key", 2,
       [](map& m, rank_t self) {
         word const mine = static_cast<word>(self) + 1;
         m.assign(1, {mine, mine});
         require_whole(m.lookup(1));
       }},
      {"a fourth key needs another bucket", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           for (word key = 1; key <= 4; ++key) m.assign(key, {key, key});
           m.assign(4, {5, 5});
         } else {
           auto const found = m.lookup(4);
           require_whole(found);
           require_that(!found || found->a >= 4, "a value that nobody wrote");
           if (found) require_that(m.lookup(1).has_value(), "a key that was inserted before is absent");
         }
       }},
  };
}

/// Programs on values of one word.
template <map_policy Policy, way Way = way::whole, class Mutant = right>
std::vector<program<word, Policy, Way, Mutant>> programs_of_words() {
  using map = small_map<word, Policy, Way, Mutant>;
  return {
      {"each rank adds", 2,
       [](map& m, rank_t self) {
         m.add(1, 1);
         if (self == 0) m.add(1, 1);
         auto const found = m.lookup(1);
         require_that(found && *found >= 1 + static_cast<word>(self == 0), "a lost addition");
         // The last rank to come here finds the whole sum.
         if (!m.insert(2 + static_cast<word>(self), 1)) throw weak::violation("a key that nobody inserted");
         if (m.lookup(2) && m.lookup(3)) require_that(m.lookup(1) == word{3}, "a lost addition");
       }},
      {"two ranks insert one key", 2,
       [](map& m, rank_t self) {
         bool const is_first = m.insert(1, static_cast<word>(self) + 1);
         auto const found = m.lookup(1);
         require_that(found.has_value(), "an inserted key is absent");
         require_that((*found == static_cast<word>(self) + 1) == is_first, "two ranks have inserted a key");
       }},
      {"a rank passes a key on by an insertion", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           m.assign(1, 7);
           m.assign(2, 8);
         } else if (m.lookup(2)) {
           require_that(m.lookup(1) == word{7}, "a change before one that was seen is not seen");
         }
       }},
      {"a rank passes a key on by another value", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           m.assign(2, 1);
           m.assign(1, 7);
           m.assign(2, 2);
         } else if (m.lookup(2) == word{2}) {
           require_that(m.lookup(1) == word{7}, "a change before one that was seen is not seen");
         }
       }},
      {"a rank passes a key on by an addition", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           m.assign(2, 1);
           m.assign(1, 7);
           m.add(2, 1);
         } else if (m.lookup(2) == word{2}) {
           require_that(m.lookup(1) == word{7}, "a change before one that was seen is not seen");
         }
       }},
      {"another key takes the slot of an erased one", 2,
       [](map& m, rank_t self) {
         if (self == 0) {
           m.assign(1, 1);
           m.erase(1);
           m.assign(129, 2);  // the same tag
         } else if (auto const found = m.lookup(1)) {
           require_that(*found == 1, "the value of another key");
         }
       }},
  };
}

struct search_result {
  std::string wrong;
  long runs = 0;
  bool is_complete = false;
  std::map<weak::site, long> sites;
};

/// Searches a program, with one site weaker or none.
template <class Value, map_policy Policy, way Way, class Mutant>
search_result searched(program<Value, Policy, Way, Mutant> const& what, weak::bounds within, long most,
                       weak::weakened const* weaker = nullptr) {
  weak::model m(what.ranks, {.slots = 0, .cells = part<Value>::shape.words()});
  m.call_alike(part<Value>::role_of);
  m.weaken(weaker);
  search_result r;
  r.wrong = m.search(within, most, [&](rank_t self) {
    small_map<Value, Policy, Way, Mutant> map(m, self);
    what.act(map, self);
  });
  r.runs = m.runs();
  r.is_complete = m.complete();
  r.sites = m.sites();
  return r;
}

constexpr map_policy reused{};

template <class Programs>
void are_right(Programs const& all, std::string_view policy) {
  for (auto const& one : all) {
    auto const found = searched(one, {2, 2}, 60'000);
    CHECK_MESSAGE(found.wrong == "", one.name, ": ", found.wrong);
    std::cout << "covered: " << (found.is_complete ? "all " : "") << found.runs << " runs of \"" << one.name
              << "\", " << policy << '\n';
  }
}

/// Whether a search of some programs finds a fault.
template <class... Programs>
std::string found_in(weak::weakened const* weaker, Programs const&... all) {
  std::string found;
  auto const look = [&](auto const& one, weak::bounds within) {
    if (!found.empty()) return;
    auto const wrong = searched(one, within, 6'000, weaker).wrong;
    if (!wrong.empty()) found = std::string(one.name) + ": " + wrong;
  };
  for (weak::bounds const within : {weak::bounds{1, 1}, weak::bounds{2, 2}})
    (std::for_each(all.begin(), all.end(), [&](auto const& one) { look(one, within); }), ...);
  return found;
}
template <class Programs>
bool is_found(Programs const& all) {
  return !found_in(nullptr, all).empty();
}

using names = std::vector<std::string>;

std::string name_of(weak::site const& at) {
  constexpr std::array<char const*, 4> roles{"the count of buckets", "a state", "a link", "a slot"};
  return std::string(at.what) + " of " + roles[at.index];
}

/// Makes each order of the programs relaxed, one by one; returns the accesses whose order no program needs.
template <class... Programs>
names not_needed(Programs const&... all) {
  std::map<weak::site, long> sites;
  auto const add = [&](auto const& one) { sites.merge(searched(one, {1, 1}, 2'000).sites); };
  (std::for_each(all.begin(), all.end(), add), ...);
  names rest;
  for (auto const& [at, times] : sites) {
    weak::weakened const to{at, std::memory_order_relaxed};
    auto const why = found_in(&to, all...);
    std::cout << "covered: " << name_of(at) << ", relaxed: " << (why.empty() ? "no fault" : why) << '\n';
    if (why.empty()) rest.push_back(name_of(at));
  }
  return rest;
}

TEST_CASE("map orders: lookups and changes are right on words that show old values") {
  are_right(programs_of_pairs<reused>(), "slots that are reused");
  are_right(programs_of_words<reused>(), "slots that are reused");
  are_right(programs_of_words<pgas::counting>(), "slots that are kept");
  are_right(programs_of_words<reused, way::short_one>(), "slots that are reused, by the short way");
  are_right(programs_of_words<pgas::counting, way::short_one>(), "slots that are kept, by the short way");
}

TEST_CASE("map orders: each step of a lookup or a change is needed") {
  namespace mutants = distributed_map_mutants;
  CHECK(is_found(programs_of_pairs<reused, mutants::no_second_look>()));
  CHECK(is_found(programs_of_pairs<reused, mutants::no_count>()));
  CHECK(is_found(programs_of_pairs<reused, mutants::no_look_at_lock>()));
  CHECK(is_found(programs_of_pairs<reused, mutants::no_mark>()));
  CHECK(is_found(programs_of_words<reused, way::whole, mutants::no_lock>()));
  CHECK(is_found(programs_of_words<reused, way::short_one, mutants::no_second_look>()));
  CHECK(is_found(programs_of_words<reused, way::short_one, mutants::no_count>()));
}

// Three orders are idle. The swap that locks follows an acquire load of the value that it replaces, and each
// store to a slot releases it. The state of an overflow bucket tells what the bucket holds, so a link need
// not. The count of buckets only makes numbers unique.
TEST_CASE("map orders: each memory order is needed, except those that another one makes idle" *
          doctest::test_suite("long")) {
  names const idle{"fetch_add of the count of buckets", "load of a link", "replace of a state",
                   "store of a link"};
  CHECK(not_needed(programs_of_pairs<reused>(), programs_of_words<reused>()) == idle);
  names const idle_in_one_bucket{"load of a link", "replace of a state"};
  CHECK(not_needed(programs_of_words<pgas::counting>()) == idle_in_one_bucket);
  CHECK(not_needed(programs_of_words<pgas::counting, way::short_one>()) == idle_in_one_bucket);
}

}  // namespace pgas_test::map_orders
