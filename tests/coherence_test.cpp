// SPDX-License-Identifier: BSL-1.0
// Every clean, drop, drain, publish and refresh is necessary: without it, a program gives a wrong value on
// memory with private copies. With all of them, it gives the right one against every seed.
#include <atomic>
#include <optional>
#include <pgas/coherence/mutated.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <string>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::group;
using pgas::make_window;
namespace coherence = pgas::coherence;
using coherence::step;

namespace {

// ---- protocols that forget one call of their boundary ----------------------------------------------------------

enum class call {
  none,
  fence_publish,
  fence_refresh,
  post_publish,
  wait_refresh,
  test_refresh,
  trigger_refresh,
  complete_publish,
  lock_refresh,
  unlock_publish
};

/// A boundary that does not pass on what is forgotten.
template <class Boundary, bool Publishes, bool Refreshes>
struct forgetful_boundary {
  Boundary& to;
  void publish(auto targets) {
    if constexpr (Publishes) to.publish(targets);
  }
  void refresh(auto targets) {
    if constexpr (Refreshes) to.refresh(targets);
  }
};
template <bool Publishes, bool Refreshes, class Boundary>
auto forget(Boundary& b) {
  return forgetful_boundary<Boundary, Publishes, Refreshes>{b};
}

template <class Protocol, call Missing>
struct forgetful_fence : Protocol {
  static constexpr std::string_view name = "forgetful_fence";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void fence(pgas::boundary auto& b, std::string_view operation) {
      auto wrong = forget<Missing != call::fence_publish, Missing != call::fence_refresh>(b);
      right.fence(wrong, operation);
    }
  };
};

template <class Protocol, call Missing>
struct forgetful_post : Protocol {
  static constexpr std::string_view name = "forgetful_post";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void post(group g, pgas::boundary auto& b) {
      auto wrong = forget<Missing != call::post_publish, true>(b);
      right.post(g, wrong);
    }
    void wait(group g, pgas::boundary auto& b) {
      auto wrong = forget<true, Missing != call::wait_refresh>(b);
      right.wait(g, wrong);
    }
    bool test(group g, pgas::boundary auto& b) {
      auto wrong = forget<true, Missing != call::test_refresh>(b);
      return right.test(g, wrong);
    }
    void start(group g) { right.start(g); }
    void trigger(rank_t target, pgas::boundary auto& b, bool waits) {
      auto wrong = forget<true, Missing != call::trigger_refresh>(b);
      right.trigger(target, wrong, waits);
    }
    void complete(group g, pgas::boundary auto& b, bool waits) {
      auto wrong = forget<Missing != call::complete_publish, true>(b);
      right.complete(g, wrong, waits);
    }
  };
};

template <class Protocol, call Missing>
struct forgetful_lock : Protocol {
  static constexpr std::string_view name = "forgetful_lock";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void lock_all(pgas::boundary auto& b) {
      auto wrong = forget<true, Missing != call::lock_refresh>(b);
      right.lock_all(wrong);
    }
    void unlock_all(pgas::boundary auto& b) {
      auto wrong = forget<Missing != call::unlock_publish, true>(b);
      right.unlock_all(wrong);
    }
  };
};

template <call Missing>
using forgetful = pgas::protocols<forgetful_fence<pgas::sync::dissemination, Missing>,
                                  forgetful_post<pgas::sync::match_vector, Missing>,
                                  forgetful_lock<pgas::sync::shared_only, Missing>>;

// ---- programs: each gives only right values if copies are made to agree ---------------------------------------

/// What a program learned on any of its ranks. Ranks are threads here.
struct verdict {
  std::atomic<bool>* right;
  void expect(int seen, int expected) const {
    if (seen != expected) right->store(false, std::memory_order_relaxed);
  }
};

constexpr int rounds = 4;
// Elements that different ranks write lie on lines of their own, as everywhere in a right program.
constexpr std::size_t stored = 0;
constexpr std::size_t put = 64;
constexpr std::size_t part = 128;

/// Message passing both ways by fences: own stores are got, puts are loaded.
struct by_fence {
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      w.local()[stored] = round;
      {
        pgas::fence epoch{w};
        v.expect(epoch.get(to, stored), round);
        epoch.put(to, put, round);
      }
      int const seen = w.local()[put];
      v.expect(seen, round);
      pgas::fence epoch{w};
      v.expect(epoch.get(to, put), round);
      epoch.next();
      v.expect(epoch.get(to, stored), round);
    }
  }
};

/// The same by post, start, complete and wait.
template <bool ByTest>
struct by_post {
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      w.local()[stored] = round;
      {
        pgas::exposure exposed{w, {from}};
        {
          pgas::access epoch{w, {to}};
          v.expect(epoch.get(to, stored), round);
          epoch.put(to, put, round);
        }
        if constexpr (ByTest) {
          while (!exposed.test()) {
            team.state()->backend.check("test");
            std::this_thread::yield();
          }
        }
      }
      int const seen = w.local()[put];
      v.expect(seen, round);
    }
  }
};

/// The same by lock_all and barriers, epochs opened and closed.
struct by_lock {
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      {
        pgas::lock_all epoch{w};
        w.local()[stored] = round;
        epoch.put(to, put, round);
      }
      team.barrier();
      {
        pgas::lock_all epoch{w};
        int const seen = w.local()[put];  // first: under lock_all a get drops, and drains all
        v.expect(seen, round);
        v.expect(epoch.get(to, stored), round);
        v.expect(epoch.get(to, put), round);
      }
      team.barrier();
    }
  }
};

/// The same in one lock_all epoch, by flush and sync; or without one of them.
template <bool Flushes = true, bool SyncsBefore = true, bool SyncsAfter = true>
struct by_flush {
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    pgas::lock_all stores{w};
    for (int round = 1; round <= rounds; ++round) {
      w.local()[stored] = round;
      if constexpr (SyncsBefore) stores.sync();
      stores.put(to, put, round);
      if constexpr (Flushes) stores.flush(to);
      team.barrier();
      if constexpr (SyncsAfter) stores.sync();
      v.expect(stores.get(to, stored), round);
      int const seen = w.local()[put];
      v.expect(seen, round);
      team.barrier();
    }
  }
};

/// A rank's own stores under lock_all survive the drops of its own part.
enum class dropped_by { opening, flush, get };
template <dropped_by By>
struct by_own_store {
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    for (int round = 1; round <= rounds; ++round) {
      if constexpr (By == dropped_by::opening) w.local()[stored] = round;
      pgas::lock_all epoch{w};
      if constexpr (By != dropped_by::opening) w.local()[stored] = round;
      if constexpr (By == dropped_by::flush) epoch.flush(team.rank());
      if constexpr (By == dropped_by::get) v.expect(epoch.get(team.rank(), stored), round);
      int const seen = w.local()[stored];
      v.expect(seen, round);
    }
  }
};

/// A passive get that drops its rank's own stores without writing them back.
struct get_without_clean : coherence::write_back {
  static constexpr std::string_view name = "get_without_clean";
  static void get_now(pgas::cache_controlled auto& s, pgas::location at, pgas::bytes_out into) {
    s.drop(at, into.size());
    s.drain_all();
    s.load(at, into);
  }
};

/// Whether the program gave only right values.
template <class Program, class Policy, class Protocols = pgas::default_protocols>
bool passes(std::uint64_t seed) {
  // Seed 0: memory that does what it must as late as it may. Even seeds: the adversary does much; odd ones: less.
  incoherent::adversary against{.seed = seed};
  if (seed == 0) against = incoherent::no_adversary;
  if (seed % 2 == 1)
    against = {.seed = seed, .fill = 2, .evict = 64, .deliver = 64, .drain = 64, .delay = 2, .yield = 2};
  incoherent::against const misbehaviour(against);
  std::atomic<bool> right{true};
  pgas::run<incoherent::backend>(2, [&right](auto& world) {
    auto team = world.template with<Policy, Protocols>();
    Program::run(team, verdict{&right});
  });
  return right;
}

/// The first seed against which a wrong value shows.
template <class Program, class Policy, class Protocols = pgas::default_protocols>
std::optional<std::uint64_t> caught() {
  constexpr std::uint64_t seeds = 300;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (!passes<Program, Policy, Protocols>(seed)) return seed;
  }
  return std::nullopt;
}

template <class Policy>
void check_right() {
  constexpr std::uint64_t seeds = 60;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CHECK_MESSAGE((passes<by_fence, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_post<false>, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_post<true>, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_lock, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_flush<>, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_own_store<dropped_by::opening>, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_own_store<dropped_by::flush>, Policy>(seed)), "seed ", seed);
    CHECK_MESSAGE((passes<by_own_store<dropped_by::get>, Policy>(seed)), "seed ", seed);
  }
}

template <class Program, class Policy, class Protocols = pgas::default_protocols>
void check_caught(char const* name) {
  auto const seed = caught<Program, Policy, Protocols>();
  CHECK_MESSAGE(seed.has_value(), std::string(name), " survives 300 seeds");
}

/// What one rank's cache did in its last epoch.
template <class Window>
auto counted(Window const& w) {
  return w.state().segment.counters();
}

}  // namespace

TEST_CASE("write_back: every kind of epoch gives the right values against every seed") {
  check_right<coherence::write_back>();
}
TEST_CASE("at_get: every kind of epoch gives the right values against every seed") { check_right<coherence::at_get>(); }
TEST_CASE("uncached: every kind of epoch gives the right values against every seed") {
  check_right<coherence::uncached>();
}

TEST_CASE("write_back without one of its steps gives a wrong value, by fence") {
  check_caught<by_fence, coherence::mutated<coherence::write_back, step::clean_own>>("clean_own");
  check_caught<by_fence, coherence::mutated<coherence::write_back, step::drop_own>>("drop_own");
  check_caught<by_fence, coherence::mutated<coherence::write_back, step::drop_remote>>("drop_remote");
  check_caught<by_fence, coherence::mutated<coherence::write_back, step::drain_stores>>("drain_stores");
  check_caught<by_fence, coherence::mutated<coherence::write_back, step::drain_all>>("drain_all");
  check_caught<by_fence, coherence::unsafe_none>("unsafe_none");
}

TEST_CASE("write_back without one of its steps gives a wrong value, by post, start, complete and wait") {
  check_caught<by_post<false>, coherence::mutated<coherence::write_back, step::clean_own>>("clean_own");
  check_caught<by_post<false>, coherence::mutated<coherence::write_back, step::drop_own>>("drop_own");
  check_caught<by_post<false>, coherence::mutated<coherence::write_back, step::drop_remote>>("drop_remote");
  check_caught<by_post<false>, coherence::mutated<coherence::write_back, step::drain_stores>>("drain_stores");
  check_caught<by_post<false>, coherence::mutated<coherence::write_back, step::drain_all>>("drain_all");
  check_caught<by_post<false>, coherence::unsafe_none>("unsafe_none");
}

TEST_CASE("write_back without one of its steps gives a wrong value, by lock_all") {
  // Not drop_remote: under lock_all each get drops what it reads.
  check_caught<by_lock, coherence::mutated<coherence::write_back, step::clean_own>>("clean_own");
  check_caught<by_lock, coherence::mutated<coherence::write_back, step::drop_own>>("drop_own");
  check_caught<by_lock, coherence::mutated<coherence::write_back, step::drain_stores>>("drain_stores");
  check_caught<by_lock, coherence::mutated<coherence::write_back, step::drain_all>>("drain_all");
  check_caught<by_lock, coherence::unsafe_none>("unsafe_none");
}

TEST_CASE("a drop of the own part without a clean before it loses this rank's stores") {
  using without_clean = coherence::mutated<coherence::write_back, step::clean_own>;
  check_caught<by_own_store<dropped_by::opening>, without_clean>("lock_all");
  check_caught<by_own_store<dropped_by::flush>, without_clean>("flush of the own rank");
  check_caught<by_own_store<dropped_by::get>, get_without_clean>("get from the own rank");
}

TEST_CASE("write_back puts past its cache, so that clean_remote has nothing to do: that mutant is no mutant") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK((passes<by_fence, coherence::mutated<coherence::write_back, step::clean_remote>>(seed)));
    CHECK((passes<by_post<false>, coherence::mutated<coherence::write_back, step::clean_remote>>(seed)));
  }
}

TEST_CASE("a fence without its publish, or without its refresh, gives a wrong value") {
  check_caught<by_fence, coherence::write_back, forgetful<call::fence_publish>>("publish");
  check_caught<by_fence, coherence::write_back, forgetful<call::fence_refresh>>("refresh");
}

TEST_CASE("post and complete without publish, start, wait and test without refresh give a wrong value") {
  check_caught<by_post<false>, coherence::write_back, forgetful<call::post_publish>>("post");
  check_caught<by_post<false>, coherence::write_back, forgetful<call::trigger_refresh>>("start");
  check_caught<by_post<false>, coherence::write_back, forgetful<call::complete_publish>>("complete");
  check_caught<by_post<false>, coherence::write_back, forgetful<call::wait_refresh>>("wait");
  check_caught<by_post<true>, coherence::write_back, forgetful<call::test_refresh>>("test");
}

TEST_CASE("lock_all without its refresh, unlock_all without its publish give a wrong value") {
  check_caught<by_lock, coherence::write_back, forgetful<call::lock_refresh>>("lock_all");
  check_caught<by_lock, coherence::write_back, forgetful<call::unlock_publish>>("unlock_all");
}

TEST_CASE("a program that leaves out a flush or a sync gets a wrong value") {
  check_caught<by_flush<false, true, false>, coherence::write_back>("flush, and the sync that flushes too");
  check_caught<by_flush<true, false, true>, coherence::write_back>("the sync before the barrier");
  check_caught<by_flush<true, true, false>, coherence::write_back>("the sync after the barrier");
}

TEST_CASE("forgetting nothing, the wrapped protocols are right: the mutants die of what they lack") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK((passes<by_fence, coherence::write_back, forgetful<call::none>>(seed)));
    CHECK((passes<by_post<true>, coherence::write_back, forgetful<call::none>>(seed)));
    CHECK((passes<by_lock, coherence::write_back, forgetful<call::none>>(seed)));
  }
}

TEST_CASE("hints erase work: a read only access emits no clean, a write only one no drop, and so on") {
  using on_write_back = model<incoherent::backend, coherence::write_back>;
  incoherent::against const nothing(incoherent::no_adversary);
  on<on_write_back>(2, [](auto& team) {
    auto w = make_window<int>(team, part);
    rank_t const other = 1 - team.rank();
    auto const in_epoch = [&](auto&& act) {
      auto const before = counted(w);
      act();
      auto after = counted(w);
      after.cleans -= before.cleans;
      after.drops -= before.drops;
      after.store_drains -= before.store_drains;
      after.full_drains -= before.full_drains;
      after.flushes -= before.flushes;
      return after;
    };
    auto const by_post_of = [&](auto... hint_of_exposure) {
      return [&, hint_of_exposure...](auto... hint_of_access) {
        pgas::exposure exposed{w, {other}, hint_of_exposure...};
        pgas::access epoch{w, {other}, hint_of_access...};
        static_cast<void>(epoch.to(other));
      };
    };
    {
      auto const c = in_epoch([&] { by_post_of()(); });
      require(c.cleans == 1 && c.drops == 2, "without hints: one clean at post, a drop at start and one at wait");
      require(c.store_drains == 2 && c.full_drains == 2 && c.flushes == 1, "a drain for each, and one flush");
    }
    {
      auto const c = in_epoch([&] { by_post_of(pgas::no_put)(pgas::read_only); });
      require(c.cleans == 1 && c.drops == 1 && c.flushes == 0,
              "read only: the clean is the exposure's, the drop the access's");
      require(c.store_drains == 1 && c.full_drains == 1, "and a drain for each");
    }
    {
      auto const c = in_epoch([&] { by_post_of(pgas::no_store)(pgas::write_only); });
      require(c.cleans == 0 && c.drops == 1 && c.flushes == 1, "write only, no store: the drop is the exposure's");
      require(c.store_drains == 1 && c.full_drains == 1, "and a drain for each");
    }
    {
      auto const c = in_epoch([&] { pgas::fence epoch{w, pgas::read_only, pgas::no_store, pgas::no_put}; });
      require(c.cleans == 0, "a fence of readers who stored nothing cleans nothing");
    }
    {
      auto const c = in_epoch([&] {
        pgas::fence epoch{w, pgas::write_only, pgas::no_precede, pgas::no_succeed, pgas::no_put};
      });
      require(c.drops == 0, "a fence that opened without one and gets nothing, before or after, drops nothing");
    }
  });
}

TEST_CASE("at_get: the boundary of an access drops nothing, a get drops its own range") {
  using on_at_get = model<incoherent::backend, coherence::at_get>;
  incoherent::against const nothing(incoherent::no_adversary);
  on<on_at_get>(2, [](auto& team) {
    auto w = make_window<int>(team, part);
    rank_t const other = 1 - team.rank();
    pgas::exposure exposed{w, {other}, pgas::no_put};
    pgas::access epoch{w, {other}, pgas::read_only};
    auto const target = epoch.to(other);
    auto const before = counted(w);
    require_equal(before.drops, 0U, "drops of the boundary");
    static_cast<void>(target.get(0));
    require_equal(counted(w).drops - before.drops, 1U, "drops of a get");
  });
}

namespace {

/// Memory that could not be touched in a constant expression.
struct untouchable : pgas::detail::cache_archetype {};

constexpr bool coherent_does_nothing() {
  untouchable s;
  coherence::coherent::clean_own(s);
  coherence::coherent::clean_remote(s, 0);
  coherence::coherent::drop_own(s);
  coherence::coherent::drop_remote(s, 0);
  coherence::coherent::drain_stores(s);
  coherence::coherent::drain_all(s);
  return true;
}

}  // namespace

// On coherent memory all of it vanishes: no function of the segment, none of which is constexpr, is called.
static_assert(coherent_does_nothing());
static_assert(std::is_same_v<pgas::backends::process_map::default_coherence, coherence::coherent>);
static_assert(!pgas::cache_controlled<pgas::backends::process_map::segment_type>);
