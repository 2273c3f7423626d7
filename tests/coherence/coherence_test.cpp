// SPDX-License-Identifier: BSL-1.0
// With all its steps, a policy gives the right values against every seed of a memory with private copies.
// Also the cost of each policy, and that hints remove steps. The kill matrix shows that each step is needed.
// test: only addresses, unit coherence
#include <optional>
#include <pgas/coherence/unsafe_none.hpp>
#include <string>
#include <vector>

#include "conformance/coherence_programs.hpp"
#include "support/mutated.hpp"

using namespace pgas_test;
using namespace pgas_test::coherence_programs;
using pgas::group;
using pgas::make_window;
namespace coherence = pgas::coherence;

namespace {

/// A passive get that drops its rank's own stores without cleaning them first.
struct get_without_clean : coherence::write_back {
  static constexpr std::string_view name = "get_without_clean";
  static void get_now(pgas::cache_controlled auto& s, pgas::location at, pgas::bytes_out into) {
    s.drop(at, into.size());
    s.drain_all();
    s.load(at, into);
  }
};

/// Returns whether the program saw only right values.
template <class Program, class Policy, class Protocols = pgas::default_protocols>
bool passes(std::uint64_t seed) {
  // Seed 0: memory does what it must, as late as it may. The adversary does much with even seeds, less with
  // odd ones.
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

/// Returns the first seed against which a wrong value shows.
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

/// The operations of one rank's cache in its last epoch.
template <class Window>
auto counted(Window const& w) {
  return w.state().segment.counters();
}

}  // namespace

TEST_CASE("write_back: every kind of epoch gives the right values against every seed") {
  check_right<coherence::write_back>();
}
TEST_CASE("drop_at_get: every kind of epoch gives the right values against every seed") {
  check_right<coherence::drop_at_get>();
}
TEST_CASE("uncached: every kind of epoch gives the right values against every seed") {
  check_right<coherence::uncached>();
}

TEST_CASE("a drop of the own part without a clean before it loses this rank's stores") {
  using without_clean = mutated<coherence::write_back>;
  lacking const mutant(step::clean_own);
  check_caught<by_own_store<dropped_by::opening>, without_clean>("lock_all");
  check_caught<by_own_store<dropped_by::flush>, without_clean>("flush of the own rank");
  check_caught<by_own_store<dropped_by::get>, get_without_clean>("get from the own rank");
}

TEST_CASE("a program without a flush or a sync gets a wrong value") {
  check_caught<by_flush<false, true, false>, coherence::write_back>("flush, and the sync that flushes too");
  check_caught<by_flush<true, false, true>, coherence::write_back>("the sync before the barrier");
  check_caught<by_flush<true, true, false>, coherence::write_back>("the sync after the barrier");
}

TEST_CASE("wrapped protocols that forget no call are right, so a mutant fails because of its missing step") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK((passes<by_fence, coherence::write_back, forgetful>(seed)));
    CHECK((passes<by_post<true>, coherence::write_back, forgetful>(seed)));
    CHECK((passes<by_lock, coherence::write_back, forgetful>(seed)));
  }
}

TEST_CASE("hints remove steps: a read-only access cleans nothing, a write-only access drops nothing") {
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
      require(c.cleans == 1 && c.drops == 2,
              "without hints: one clean at post, a drop at start and one at wait");
      require(c.store_drains == 2 && c.full_drains == 2 && c.flushes == 1,
              "without hints: a drain for each clean and drop, and one flush");
    }
    {
      auto const c = in_epoch([&] { by_post_of(pgas::no_put)(pgas::read_only); });
      require(c.cleans == 1 && c.drops == 1 && c.flushes == 0,
              "read only: the clean is the exposure's, the drop the access's");
      require(c.store_drains == 1 && c.full_drains == 1, "read only: a drain for each clean and drop");
    }
    {
      auto const c = in_epoch([&] { by_post_of(pgas::no_store)(pgas::write_only); });
      require(c.cleans == 0 && c.drops == 1 && c.flushes == 1,
              "write only, no store: the drop is the exposure's");
      require(c.store_drains == 1 && c.full_drains == 1, "write only, no store: a drain for each boundary");
    }
    {
      auto const c = in_epoch([&] { pgas::fence epoch{w, pgas::read_only, pgas::no_store, pgas::no_put}; });
      require(c.cleans == 0, "a fence of readers that stored nothing cleans nothing");
    }
    {
      auto const c = in_epoch([&] {
        pgas::fence epoch{w, pgas::write_only, pgas::no_precede, pgas::no_succeed, pgas::no_put};
      });
      require(c.drops == 0,
              "a fence that opened without one and gets nothing, before or after, drops nothing");
    }
  });
}

TEST_CASE("drop_at_get: the boundary of an access drops nothing, a get drops its own range") {
  using on_at_get = model<incoherent::backend, coherence::drop_at_get>;
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

/// Memory that a constant expression could not touch.
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

// On coherent memory every step vanishes: no function of the segment, none of which is constexpr, is called.
static_assert(coherent_does_nothing());
static_assert(std::is_same_v<pgas::backends::process_map::default_coherence, coherence::coherent>);
static_assert(!pgas::cache_controlled<pgas::backends::process_map::segment_type>);
